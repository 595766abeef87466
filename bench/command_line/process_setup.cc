#include "bench/command_line/process_setup.h"

#include <execinfo.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "bench/command_line/command.h"
#include "bench/command_line/interrupt.h"
#include "bench/command_line/sudden_end.h"

namespace topdnn {

namespace {

constexpr int kExitBrokenPipe = 128 + SIGPIPE;

}  // namespace

void SetUpProcess() {
  // glibc loads the unwinder at its first use, such as the end of a thread, and aborts the process
  // if there is no memory for it then.
  void* frame = nullptr;
  backtrace(&frame, 1);
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGCHLD, SIG_DFL);  // ignored by some parents: then no child has an exit status
  EndOnInterrupt();
  CatchCrashes();
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // (Writing a result fails, as on the closed stream. No one misses a message.)
    if (open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY) < 0) return;
  }
}

int FinishOutput(int status, std::error_code failure) {
  // A command that failed on standard output has already printed the error.
  if (status != kExitGood && !failure && std::ferror(stdout) != 0) return status;
  errno = 0;
  const bool flushed = std::fflush(stdout) == 0;
  const int error = failure ? failure.value() : errno;
  if (flushed && std::ferror(stdout) == 0) return status;
  if (error == EPIPE) return kExitBrokenPipe;
  const std::string line = fmt::format(
      "topdnn: cannot write to standard output: {} (an input/output error); free some space, or "
      "send it elsewhere\n",
      error == 0 ? "a write failed" : std::strerror(error));
  std::fputs(line.c_str(), stderr);
  return status == kExitGood ? kExitWrong : status;
}

}  // namespace topdnn
