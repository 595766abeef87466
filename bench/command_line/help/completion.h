// Completion of the command line in a shell. The scripts are generated from the parser's data.

#ifndef TOPDNN_BENCH_COMMAND_LINE_HELP_COMPLETION_H_
#define TOPDNN_BENCH_COMMAND_LINE_HELP_COMPLETION_H_

#include <span>
#include <string>
#include <vector>

#include "bench/command_line/help/command_info.h"

namespace topdnn {

// `networks`: the possible values of NET, besides an .onnx file.
std::string BashCompletion(std::span<const CommandInfo> commands,
                           const std::vector<std::string>& networks);
std::string ZshCompletion(std::span<const CommandInfo> commands,
                          const std::vector<std::string>& networks);

// The choices of a value like "sgd|adam|replay:FILE": "sgd", "adam", "replay:". Empty for a value
// without "|", and for "LOG|COMMAND...", which are no choices.
std::vector<std::string> ChoicesOf(const std::string& value);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_COMMAND_LINE_HELP_COMPLETION_H_
