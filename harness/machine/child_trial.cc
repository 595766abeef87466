#include "harness/machine/child_trial.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>

namespace topdnn {

namespace {

constexpr int kNoMemory = 2;  // the exit status of a child that had too little memory

[[noreturn]] void Try(const std::function<bool()>& trial, unsigned seconds) {
  for (const int signal :
       {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS, SIGALRM, SIGABRT, SIGINT, SIGTERM}) {
    std::signal(signal, SIG_DFL);
  }
  // The caller may block the signal that ends a trial without end.
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const rlimit no_core = {};
  setrlimit(RLIMIT_CORE, &no_core);
  alarm(seconds);
  // An exception must not reach the callers of RunInChild: the child would go on as this process.
  try {
    _exit(trial() ? 0 : 1);
  } catch (const std::bad_alloc&) {
    _exit(kNoMemory);
  } catch (...) {
    _exit(1);
  }
}

TrialEnd WaitFor(pid_t child) {
  int status = 0;
  pid_t waited = 0;
  do {
    waited = waitpid(child, &status, 0);
  } while (waited < 0 && errno == EINTR);
  if (waited < 0) return {.error = errno};
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoMemory) return {.error = ENOMEM};
  return {.succeeded = WIFEXITED(status) && WEXITSTATUS(status) == 0,
          .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0};
}

}  // namespace

TrialEnd RunInChild(const std::function<bool()>& trial, unsigned seconds) {
  // In a program that ignores SIGCHLD, waitpid gives no exit status.
  struct sigaction default_action = {};
  default_action.sa_handler = SIG_DFL;
  struct sigaction own = {};
  sigaction(SIGCHLD, &default_action, &own);
  TrialEnd end;
  const pid_t child = fork();
  if (child == 0) Try(trial, seconds);
  end = child < 0 ? TrialEnd{.error = errno} : WaitFor(child);
  sigaction(SIGCHLD, &own, nullptr);
  return end;
}

std::string EndBySignal(int signal) {
  if (signal == SIGALRM) return "did not end";
  return fmt::format("was ended by signal {} ({})", signal, strsignal(signal));
}

}  // namespace topdnn
