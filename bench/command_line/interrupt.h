// SIGINT and SIGTERM. Before a command asks for them, each ends the program at once, with status
// 130 and without temporary files. For a command that asks, the first one sets a flag: the command
// then writes its results and ends with status 130. The second one ends the program at once.
//
// SIGTERM also has a limit of time, because a library may be in an endless loop: the command has to
// notice the flag within a second, and to end within five.

#ifndef TOPDNN_BENCH_COMMAND_LINE_INTERRUPT_H_
#define TOPDNN_BENCH_COMMAND_LINE_INTERRUPT_H_

#include <atomic>

namespace topdnn {

// Called once, before the program runs.
void EndOnInterrupt();

// Installs the handlers (once) and returns the flag.
const std::atomic<bool>& InterruptFlag();

// Records that the command noticed the flag. Returns true.
bool NoticeInterrupt();

inline bool Interrupted() {
  return InterruptFlag().load(std::memory_order_relaxed) && NoticeInterrupt();
}

}  // namespace topdnn

#endif  // TOPDNN_BENCH_COMMAND_LINE_INTERRUPT_H_
