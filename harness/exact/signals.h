// Runs the signal handlers of a region translated.

#ifndef TOPDNN_HARNESS_EXACT_SIGNALS_H_
#define TOPDNN_HARNESS_EXACT_SIGNALS_H_

#include <cstdint>

namespace topdnn {

// Between these two calls, the exact counter gets every signal that has a handler.
void TakeSignals();
void ReturnSignals();

// Call after rt_sigaction. Replaces the handler that it installed by the counter's, and replaces
// the counter's handler by the program's own in the result `old` (null: not requested).
void FollowHandler(int signal, bool installed, void* old) noexcept;

std::uint64_t HandlerOf(int signal) noexcept;  // the program's handler

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_EXACT_SIGNALS_H_
