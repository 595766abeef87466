// SIGINT and SIGTERM as a flag. The first of them sets the flag: the command then writes its
// results and ends with status 130. The second ends the program at once.

#ifndef TOPDNN_BENCH_COMMAND_LINE_INTERRUPT_H_
#define TOPDNN_BENCH_COMMAND_LINE_INTERRUPT_H_

#include <atomic>

namespace topdnn {

// Installs the handlers (once) and returns the flag.
const std::atomic<bool>& InterruptFlag();

inline bool Interrupted() { return InterruptFlag().load(std::memory_order_relaxed); }

}  // namespace topdnn

#endif  // TOPDNN_BENCH_COMMAND_LINE_INTERRUPT_H_
