#include "bench/command_line/command_parser.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>
#include <type_traits>

#include "bench/command_line/command.h"
#include "harness/text/style.h"
#include "harness/text/text.h"
#include "networks/graph/zoo.h"

namespace topdnn {

namespace {

template <class Value>
struct Held {
  using Type = Value;
};
template <class Value>
struct Held<std::optional<Value>> {
  using Type = Value;
};

// " from 0 to 9": the bounds of the range; where a number exceeds its type, the bounds of the type.
template <class Number>
std::string BoundsText(const Range& range, bool beyond_type) {
  using Limits = std::numeric_limits<Number>;
  const auto text = [](auto bound, Number limit, bool of_type) {
    if (of_type) return fmt::format("{}", limit);
    return std::is_integral_v<Number> ? fmt::format("{:.0f}", bound) : fmt::format("{:g}", bound);
  };
  const bool type_least = range.least <= static_cast<double>(Limits::lowest());
  const bool type_most = range.most >= static_cast<double>(Limits::max());
  const std::string least = text(range.least, Limits::lowest(), type_least);
  const std::string most = text(range.most, Limits::max(), type_most);
  const bool show_least = beyond_type || !type_least || std::is_unsigned_v<Number>;
  const bool show_most = beyond_type || !type_most;
  if (show_least && show_most) return fmt::format(" from {} to {}", least, most);
  if (show_least) return fmt::format(", {} or more", least);
  return show_most ? fmt::format(", {} or less", most) : "";
}

// The number in `text`. Throws unless it is one finite number of the type, within the range.
template <class Number>
Number CheckedNumber(const std::string& name, std::string_view text, const Range& range) {
  Number value{};
  // (from_chars does not accept a plus sign)
  const char* const begin =
      text.data() + (text.starts_with('+') && !text.starts_with("+-") ? 1 : 0);
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
  const bool number = error == std::errc{} && end == text.data() + text.size();
  const auto as_double = static_cast<double>(value);
  if (number && std::isfinite(as_double) && as_double >= range.least && as_double <= range.most) {
    return value;
  }
  throw UsageError(fmt::format("{} {}: must be a {}{}", name, text,
                               std::is_integral_v<Number> ? "whole number" : "number",
                               BoundsText<Number>(range, error == std::errc::result_out_of_range)));
}

// Makes CLI11 check each value of the option before the conversion.
template <class Value>
void Check(CLI::Option* option, const std::string& name, const Range& range) {
  using Type = typename Held<Value>::Type;
  option->transform(CLI::Validator(
      [name, range](std::string& text) {
        if (text.empty()) {
          throw UsageError(fmt::format("{}: is empty; give a value, or leave it out", name));
        }
        if constexpr (std::is_arithmetic_v<Type>) {
          const Type number = CheckedNumber<Type>(name, text, range);
          // CLI11 would read 010 as an octal number.
          if constexpr (std::is_integral_v<Type>) text = fmt::format("{}", number);
        } else {
          static_cast<void>(range);
        }
        return std::string();
      },
      ""));
}

// "--json FILE": the option and the value that the help shows.
struct Names {
  explicit Names(const std::string& text)
      : option(text.substr(0, text.find(' '))),
        value(option.size() < text.size() ? text.substr(option.size() + 1) : "") {}

  std::string option;
  std::string value;
};

template <class Value>
std::string ValueText() {
  using Type = typename Held<Value>::Type;
  if (std::is_integral_v<Type>) return "N";
  return std::is_floating_point_v<Type> ? "NUMBER" : "TEXT";
}

// Whether the help shows the value as the default: not if the help text already names it.
template <class Value>
bool ShowsDefault(const Value& value, const std::string& help) {
  if (help.find("(default") != std::string::npos) return false;
  if constexpr (std::is_same_v<Value, std::string>) return !value.empty();
  return std::is_arithmetic_v<Value>;
}

// `section`: the heading of an option; positional arguments have their own.
template <class Value>
CLI::Option* AddOption(CLI::App& app, const std::string& section, const std::string& name,
                       Value& value, const std::string& help, const Range& range) {
  const Names names(name);
  CLI::Option* option = app.add_option(names.option, value, help)->group(section);
  option->type_name(names.value.empty() ? ValueText<Value>() : names.value);
  if (ShowsDefault(value, help)) option->capture_default_str();
  Check<Value>(option, names.option, range);
  return option;
}

}  // namespace

template <class Value>
void CommandParser::Add(const std::string& name, Value& value, const std::string& help,
                        Range range) {
  AddOption(app_, section_, name, value, help, range);
}

template <class Value>
void CommandParser::Require(const std::string& name, Value& value, const std::string& help) {
  AddOption(app_, section_, name, value, help, {})->required();
}

void CommandParser::RequireNetwork(std::string& value) {
  Require("NET NET", value, "a network of the zoo, NAME:VARIANT, or FILE.onnx");
  std::vector<std::string> names;
  for (const NetworkOffer& network : Networks()) names.push_back(network.FullName());
  AddFooter(
      fmt::format("Networks ('topdnn networks' shows their sizes): {}", fmt::join(names, " ")));
}

// Each type of value needs a line here; otherwise the program does not link.
#define TOPDNN_ARGUMENT_OF_TYPE(...)                                                             \
  template void CommandParser::Add(const std::string&, __VA_ARGS__&, const std::string&, Range); \
  template void CommandParser::Require(const std::string&, __VA_ARGS__&, const std::string&)
TOPDNN_ARGUMENT_OF_TYPE(std::string);
TOPDNN_ARGUMENT_OF_TYPE(std::optional<std::string>);
TOPDNN_ARGUMENT_OF_TYPE(std::vector<std::string>);
TOPDNN_ARGUMENT_OF_TYPE(int);
TOPDNN_ARGUMENT_OF_TYPE(std::optional<int>);
TOPDNN_ARGUMENT_OF_TYPE(std::int64_t);
TOPDNN_ARGUMENT_OF_TYPE(std::optional<std::int64_t>);
TOPDNN_ARGUMENT_OF_TYPE(std::uint64_t);
TOPDNN_ARGUMENT_OF_TYPE(std::optional<std::uint64_t>);
TOPDNN_ARGUMENT_OF_TYPE(double);
TOPDNN_ARGUMENT_OF_TYPE(std::optional<double>);
#undef TOPDNN_ARGUMENT_OF_TYPE

void CommandParser::AddList(const std::string& name, std::vector<std::string>& values,
                            const std::string& shown, const std::string& help) {
  CLI::Option* option = app_.add_option(name, values, help);
  option->type_name(shown);
  Check<std::string>(option, name, {});
}

void CommandParser::AddFlag(const std::string& name, bool& value, const std::string& help) {
  app_.add_flag(name, value, help)->group(section_);
}

std::vector<std::string> CommandParser::GivenOptions() const {
  std::vector<std::string> given;
  for (const CLI::Option* const option : app_.get_options()) {
    if (option->count() == 0 || option->get_positional()) continue;
    given.push_back("--" + option->get_lnames().front());
  }
  return given;
}

void CommandParser::Refuse(const std::vector<std::string>& names, const std::string& why) const {
  for (const std::string& name : GivenOptions()) {
    if (std::find(names.begin(), names.end(), name) == names.end()) continue;
    throw UsageError(fmt::format("{}: has no effect {}: leave it out", name, why));
  }
}

void CommandParser::RefuseAllBut(const std::vector<std::string>& names,
                                 const std::string& why) const {
  std::vector<std::string> others = GivenOptions();
  std::erase_if(others, [&names](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  });
  Refuse(others, why);
}

void CommandParser::NoteGiven(const std::string& name, bool& given) {
  app_.get_option(name)->each([&given](const std::string& /*value*/) { given = true; });
}

void CommandParser::AddOptional(const std::string& name, const std::string& alone,
                                std::string& value, const std::string& help) {
  app_.add_flag(fmt::format("{}{{{}}}", name, alone), value, help)->group(section_);
}

void CommandParser::AddOptionalNumber(const std::string& name, std::int64_t alone,
                                      std::optional<std::int64_t>& value, const std::string& help,
                                      Range range) {
  // (CLI11 would set an optional value that is bound to a flag to 0 if the flag is not given)
  const auto set = [&value](std::int64_t given) { value = given; };
  CLI::Option* option = app_.add_flag_function(fmt::format("{}{{{}}}", name, alone), set, help);
  option->group(section_)->transform(CLI::Validator(
      [name, range](std::string& text) {
        text = fmt::format("{}", CheckedNumber<std::int64_t>(name, text, range));
        return std::string();
      },
      ""));
}

void CommandParser::AddRepeated(const std::string& name, std::vector<std::string>& values,
                                const std::string& help) {
  AddOption(app_, section_, name, values, help, {})->allow_extra_args(false);
}

void CommandParser::AllowOthers() { app_.allow_extras(); }

std::vector<std::string> CommandParser::OtherArguments() const { return app_.remaining(); }

void CommandParser::AddFooter(const std::string& text) {
  std::string footer = app_.get_footer();
  if (!footer.empty()) footer += "\n\n";
  footer += Wrap(text, DetectStyle(stdout).width, 2);
  footer.pop_back();  // the newline at its end
  app_.footer(footer);
}

}  // namespace topdnn
