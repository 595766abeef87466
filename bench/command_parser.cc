#include "bench/command_parser.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>
#include <type_traits>

#include "bench/command.h"

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

// Throws unless `text` is one finite number of the type, within the range.
template <class Number>
void CheckNumber(const std::string& name, std::string_view text, const Range& range) {
  Number value{};
  // (from_chars does not accept a plus sign)
  const char* const begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
  const bool number = error == std::errc{} && end == text.data() + text.size();
  const auto as_double = static_cast<double>(value);
  if (number && std::isfinite(as_double) && as_double >= range.least && as_double <= range.most) {
    return;
  }
  throw UsageError(fmt::format("{} {}: must be a {}{}", name, text,
                               std::is_integral_v<Number> ? "whole number" : "number",
                               BoundsText<Number>(range, error == std::errc::result_out_of_range)));
}

// Makes CLI11 check each value of the option before the conversion.
template <class Value>
CLI::Option* Checked(CLI::Option* option, const std::string& name, const Range& range) {
  using Type = typename Held<Value>::Type;
  return option->check(CLI::Validator(
      [name, range](std::string& text) {
        if (text.empty()) {
          throw UsageError(fmt::format("{}: is empty; give a value, or leave it out", name));
        }
        if constexpr (std::is_arithmetic_v<Type>) CheckNumber<Type>(name, text, range);
        return std::string();
      },
      ""));
}

}  // namespace

template <class Value>
void CommandParser::Add(const std::string& name, Value& value, const std::string& help,
                        Range range) {
  Checked<Value>(app_.add_option(name, value, help), name, range);
}

template <class Value>
void CommandParser::Require(const std::string& name, Value& value, const std::string& help) {
  Checked<Value>(app_.add_option(name, value, help), name, {})->required();
}

// Each type of value needs a line here; otherwise the program does not link.
#define TOPDNN_ARGUMENT_OF_TYPE(...)                                                             \
  template void CommandParser::Add(const std::string&, __VA_ARGS__&, const std::string&, Range); \
  template void CommandParser::Require(const std::string&, __VA_ARGS__&, const std::string&)
TOPDNN_ARGUMENT_OF_TYPE(std::string);
TOPDNN_ARGUMENT_OF_TYPE(std::optional<std::string>);
TOPDNN_ARGUMENT_OF_TYPE(std::vector<std::string>);
TOPDNN_ARGUMENT_OF_TYPE(int);
TOPDNN_ARGUMENT_OF_TYPE(std::int64_t);
TOPDNN_ARGUMENT_OF_TYPE(std::optional<std::int64_t>);
TOPDNN_ARGUMENT_OF_TYPE(std::uint64_t);
TOPDNN_ARGUMENT_OF_TYPE(double);
#undef TOPDNN_ARGUMENT_OF_TYPE

void CommandParser::AddList(const std::string& name, std::vector<std::string>& values,
                            const std::string& shown, const std::string& help) {
  Checked<std::string>(app_.add_option(name, values, help), name, {})->option_text(shown);
}

void CommandParser::AddFlag(const std::string& name, bool& value, const std::string& help) {
  app_.add_flag(name, value, help);
}

void CommandParser::AllowOthers() { app_.allow_extras(); }

std::vector<std::string> CommandParser::OtherArguments() const { return app_.remaining(); }

void CommandParser::SetFooter(const std::string& text) { app_.footer(text); }

}  // namespace topdnn
