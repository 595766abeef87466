#include "bench/command_parser.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>

namespace topdnn {

template <class Value>
void CommandParser::Add(const std::string& name, Value& value, const std::string& help) {
  app_.add_option(name, value, help);
}

template <class Value>
void CommandParser::Require(const std::string& name, Value& value, const std::string& help) {
  app_.add_option(name, value, help)->required();
}

// One more type of value is one more line here; without it the program does not link.
#define TOPDNN_ARGUMENT_OF_TYPE(...)                                                      \
  template void CommandParser::Add(const std::string&, __VA_ARGS__&, const std::string&); \
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
  app_.add_option(name, values, help)->option_text(shown);
}

void CommandParser::AddFlag(const std::string& name, bool& value, const std::string& help) {
  app_.add_flag(name, value, help);
}

void CommandParser::AllowOthers() { app_.allow_extras(); }

std::vector<std::string> CommandParser::OtherArguments() const { return app_.remaining(); }

void CommandParser::SetFooter(const std::string& text) { app_.footer(text); }

}  // namespace topdnn
