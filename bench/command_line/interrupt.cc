#include "bench/command_line/interrupt.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdint>

#include "bench/command_line/command.h"
#include "bench/command_line/sudden_end.h"
#include "harness/files/atomic_file.h"
#include "harness/measure/watched_run.h"

namespace topdnn {

namespace {

// Until the flag must be noticed, and the seconds after that until the end.
constexpr long kNoticeNanoseconds = 900'000'000;
constexpr int kMostTicks = 5;

std::atomic<bool> interrupted = false;
std::atomic<bool> noticed = false;
static_assert(std::atomic<bool>::is_always_lock_free,
              "a signal handler may only access lock-free atomics");

timer_t end_timer;
bool has_limit = false;
int ticks_after_notice = 0;
std::uint64_t iterations_before = 0;  // of measurements, at the signal

int LimitSignal() { return SIGRTMIN + 3; }

void EndAtOnce(int /*signal*/) {
  RemoveTemporaryFiles();
  _exit(kExitInterrupted);
}

void OnLimit(int /*signal*/) {
  const bool goes_on = noticed || WatchedIterations() != iterations_before;
  if (goes_on && ++ticks_after_notice < kMostTicks) return;
  EndSuddenly(kExitInterrupted, "was running when SIGTERM ended it");
}

void OnInterrupt(int signal) {
  iterations_before = WatchedIterations();
  interrupted.store(true, std::memory_order_relaxed);
  std::signal(SIGINT, EndAtOnce);
  std::signal(SIGTERM, EndAtOnce);
  if (signal != SIGTERM || !has_limit) return;
  itimerspec after = {};
  after.it_value.tv_nsec = kNoticeNanoseconds;
  after.it_interval.tv_sec = 1;
  timer_settime(end_timer, 0, &after, nullptr);
}

// On a separate stack. The matrix product that oneDNN 2.6 generates stores below the stack pointer,
// beyond the 128 bytes that a signal frame does not overwrite. Only the calling thread gets the
// stack: the main thread, to which the kernel delivers a signal for the process if it can.
void UseSeparateStack() {
  constexpr std::size_t kBytes = std::size_t{64} << 10;  // AMX alone saves 8 KiB
  static std::byte memory[kBytes];
  stack_t stack = {};
  stack.ss_sp = memory;
  stack.ss_size = kBytes;
  sigaltstack(&stack, nullptr);
}

bool Handle(int signal, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_ONSTACK | SA_RESTART;
  return sigaction(signal, &action, nullptr) == 0;
}

void CreateEndTimer() {
  sigevent event = {};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = LimitSignal();
  event._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
  has_limit = timer_create(CLOCK_MONOTONIC, &event, &end_timer) == 0;
}

bool Install() {
  if (Handle(LimitSignal(), OnLimit)) {
    CreateEndTimer();
    pthread_atfork(nullptr, nullptr, CreateEndTimer);  // a fork does not inherit timers
  }
  return Handle(SIGINT, OnInterrupt) && Handle(SIGTERM, OnInterrupt);
}

}  // namespace

void EndOnInterrupt() {
  UseSeparateStack();
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction before = {};
    // (a shell starts a program in the background with SIGINT ignored)
    const bool usual = sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_DFL;
    if (usual) Handle(signal, EndAtOnce);
  }
}

const std::atomic<bool>& InterruptFlag() {
  static const bool installed = Install();
  (void)installed;
  return interrupted;
}

bool NoticeInterrupt() {
  noticed.store(true, std::memory_order_relaxed);
  return true;
}

}  // namespace topdnn
