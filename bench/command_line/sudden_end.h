// The end of a process that cannot go on: a kernel crashes or hangs, or SIGTERM finds the program
// in a call that does not return. One line says what ran; temporary files are removed, and results
// that a command wants to keep are written by a fresh image of the program, because the heap and
// the locks of this one cannot be trusted.

#ifndef TOPDNN_BENCH_COMMAND_LINE_SUDDEN_END_H_
#define TOPDNN_BENCH_COMMAND_LINE_SUDDEN_END_H_

#include <string>
#include <string_view>
#include <vector>

namespace topdnn {

// Prints "topdnn: WHAT RUNS NOW `what`", and ends the process with the status. For a signal
// handler.
[[noreturn]] void EndSuddenly(int status, const char* what) noexcept;

// From now on a crash (SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT) of this process, not of a forked
// one, or an exception that no one catches, is a sudden end with status 1. A handler that is
// already there, as of a sanitizer, is kept.
void CatchCrashes();

// Whether a line that a process left says that it crashed.
bool IsCrashLine(std::string_view line);

// Ends the process with status 1 if a stage that is measured in this scope
// (harness/measure/watched_run.h) takes over four polls, and 20 times as long as all iterations
// before. The first iteration has no limit, unless an earlier scope has seen it (`warm`).
class HangWatch {
 public:
  explicit HangWatch(bool warm = false, int poll_milliseconds = 2500);
  ~HangWatch();
  HangWatch(const HangWatch&) = delete;
  HangWatch& operator=(const HangWatch&) = delete;
};

// What a sudden end leaves to do.
struct Unfinished {
  std::vector<std::string> words;  // as AtSuddenEnd got them
  int status = 0;
  std::string line;    // that was printed
  std::string kernel;  // TimedStage::kernel of the stage that ran; empty: none did
};

// What finishes it, in the program's new image. Returns the exit status.
class RescueRegistration {
 public:
  RescueRegistration(const std::string& name, int (*rescue)(const Unfinished& unfinished));
};

// While it exists, a sudden end starts the program again with these words for the rescue of this
// name. Open files without O_CLOEXEC stay open.
class AtSuddenEnd {
 public:
  AtSuddenEnd(const std::string& rescue, const std::vector<std::string>& words);
  ~AtSuddenEnd();
  AtSuddenEnd(const AtSuddenEnd&) = delete;
  AtSuddenEnd& operator=(const AtSuddenEnd&) = delete;
};

// Whether the program was started for a rescue; then sets its exit status.
bool IsRescue(int argc, char** argv, int& status);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_COMMAND_LINE_SUDDEN_END_H_
