// The manual page, generated from the parser's data.

#ifndef TOPDNN_BENCH_COMMAND_LINE_HELP_MAN_PAGE_H_
#define TOPDNN_BENCH_COMMAND_LINE_HELP_MAN_PAGE_H_

#include <span>
#include <string>

#include "bench/command_line/help/command_info.h"

namespace topdnn {

// topdnn(1), in the macros of man(7).
std::string ManPage(std::span<const CommandInfo> commands);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_COMMAND_LINE_HELP_MAN_PAGE_H_
