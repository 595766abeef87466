// The parser of the whole command line: one subcommand for each registered command, and the help.

#ifndef TOPDNN_BENCH_COMMAND_LINE_PROGRAM_PARSER_H_
#define TOPDNN_BENCH_COMMAND_LINE_PROGRAM_PARSER_H_

#include <CLI/CLI.hpp>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "bench/command_line/command_parser.h"

namespace topdnn {

class ProgramParser {
 public:
  ProgramParser();

  CLI::App& app() { return app_; }
  // Runs the command that was parsed. Returns the exit status.
  int RunChosen() const;

 private:
  CLI::App app_;
  std::deque<CommandParser> parsers_;  // keeps its addresses: the bodies refer to its elements
  std::vector<std::pair<const CLI::App*, std::function<int()>>> bodies_;
};

}  // namespace topdnn

#endif  // TOPDNN_BENCH_COMMAND_LINE_PROGRAM_PARSER_H_
