// The parser's data about each command, for the help, the completion and the manual page.

#ifndef TOPDNN_BENCH_COMMAND_LINE_HELP_COMMAND_INFO_H_
#define TOPDNN_BENCH_COMMAND_LINE_HELP_COMMAND_INFO_H_

#include <string>
#include <vector>

namespace topdnn {

struct OptionInfo {
  std::string name;   // "--json", or "NET" for a positional argument
  std::string value;  // "FILE", "NET", "sgd|adam"; empty for a flag
  std::string help;   // with the default
  bool positional = false;
  bool required = false;
  std::string section = "Options";  // the heading in the help
};

struct CommandInfo {
  std::string name;
  std::string summary;
  std::string example;  // a command line
  std::vector<OptionInfo> options;
};

// Every registered command, sorted by name.
std::vector<CommandInfo> CommandInfos();

}  // namespace topdnn

#endif  // TOPDNN_BENCH_COMMAND_LINE_HELP_COMMAND_INFO_H_
