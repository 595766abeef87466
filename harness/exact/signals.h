// The signal handlers of a region, which are run translated.

#ifndef TOPDNN_HARNESS_EXACT_SIGNALS_H_
#define TOPDNN_HARNESS_EXACT_SIGNALS_H_

#include <cstdint>

namespace topdnn {

// From now on a signal that has a handler comes to the exact counter first; until the return.
void TakeSignals();
void ReturnSignals();

// After the system call rt_sigaction: takes the handler that it installed, and gives the caller the
// program's own where the kernel told it the counter's. `old`: the caller's place for it, or null.
void FollowHandler(int signal, bool installed, void* old) noexcept;

std::uint64_t HandlerOf(int signal) noexcept;  // the program's own

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_EXACT_SIGNALS_H_
