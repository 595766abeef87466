#include "bench/command_line/interrupt.h"

#include <csignal>

namespace topdnn {

namespace {

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free,
              "a signal handler may only access lock-free atomics");

void OnInterrupt(int signal) {
  interrupted.store(true, std::memory_order_relaxed);
  std::signal(signal, SIG_DFL);
}

}  // namespace

const std::atomic<bool>& InterruptFlag() {
  static const bool installed = std::signal(SIGINT, OnInterrupt) != SIG_ERR;
  (void)installed;
  return interrupted;
}

}  // namespace topdnn
