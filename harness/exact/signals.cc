// Installed handlers are run translated too; writes to translated code are noticed by the fault
// they cause.

#if defined(__x86_64__)

#include "harness/exact/signals.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "harness/exact/mappings.h"

namespace topdnn {

namespace {

struct sigaction original[NSIG];
bool taken[NSIG];

void OnSignal(int signal, siginfo_t* info, void* state) {
  Context* c = CurrentContext();
  const auto rip =
      static_cast<std::uint64_t>(static_cast<const ucontext_t*>(state)->uc_mcontext.gregs[REG_RIP]);
  const auto cache = c == nullptr ? 0 : reinterpret_cast<std::uint64_t>(c->code_begin);
  const bool translated = c != nullptr && rip >= cache && rip < cache + kCodeBytes;
  const struct sigaction& old = original[signal];
  if (old.sa_handler == SIG_DFL || old.sa_handler == SIG_IGN) {
    sigaction(signal, &old, nullptr);  // the fault comes again, and does what it would have done
    return;
  }
  if (!translated) {
    if (c != nullptr) Miss(c, "a signal handler ran outside translation", rip);
    old.sa_sigaction(signal, info, state);
    return;
  }
  std::uint64_t saved[sizeof c->spill / 8 + 3];
  std::memcpy(saved, c->spill, sizeof saved);  // up to and including `exit`
  ++c->nested;
  FollowChanges(c);
  RunTranslated(c, reinterpret_cast<std::uint64_t>(old.sa_sigaction),
                static_cast<std::uint64_t>(signal), reinterpret_cast<std::uint64_t>(info),
                reinterpret_cast<std::uint64_t>(state), false);
  --c->nested;
  std::memcpy(c->spill, saved, sizeof saved);
}

}  // namespace

void TakeSignals(Context* c) {
  stack_t alternate = {};
  sigaltstack(nullptr, &alternate);
  c->alternate_low = reinterpret_cast<std::uint64_t>(alternate.ss_sp);
  c->alternate_high = c->alternate_low + alternate.ss_size;
  for (int signal = 1; signal < NSIG; ++signal) {
    taken[signal] = false;
    if (sigaction(signal, nullptr, &original[signal]) != 0) continue;
    const auto handler = original[signal].sa_handler;
    if (handler == SIG_DFL || handler == SIG_IGN) continue;
    struct sigaction ours = original[signal];
    ours.sa_sigaction = OnSignal;
    ours.sa_flags |= SA_SIGINFO;
    taken[signal] = sigaction(signal, &ours, nullptr) == 0;
  }
}

void ReturnSignals() {
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction now = {};
    if (taken[signal] && sigaction(signal, nullptr, &now) == 0 && now.sa_sigaction == OnSignal) {
      sigaction(signal, &original[signal], nullptr);
    }
  }
}

}  // namespace topdnn

#endif  // __x86_64__
