#include "bench/command_line/interrupt.h"

#include <csignal>
#include <cstddef>

namespace topdnn {

namespace {

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free,
              "a signal handler may only access lock-free atomics");

// After the first signal, both signals have their default effect.
void OnInterrupt(int) {
  interrupted.store(true, std::memory_order_relaxed);
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

// Installs the handler on a separate stack. The matrix product that oneDNN 2.6 generates stores
// below the stack pointer, beyond the 128 bytes that a signal frame does not overwrite. Only the
// calling thread gets the stack: the main thread, to which the kernel delivers a signal for the
// process if it can.
bool Install() {
  constexpr std::size_t kBytes = std::size_t{64} << 10;  // AMX alone saves 8 KiB
  static std::byte memory[kBytes];
  stack_t stack = {};
  stack.ss_sp = memory;
  stack.ss_size = kBytes;
  sigaltstack(&stack, nullptr);
  struct sigaction action = {};
  action.sa_handler = OnInterrupt;
  action.sa_flags = SA_ONSTACK | SA_RESTART;
  return sigaction(SIGINT, &action, nullptr) == 0 && sigaction(SIGTERM, &action, nullptr) == 0;
}

}  // namespace

const std::atomic<bool>& InterruptFlag() {
  static const bool installed = Install();
  (void)installed;
  return interrupted;
}

}  // namespace topdnn
