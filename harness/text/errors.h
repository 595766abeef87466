// How a run ends early, in three types. Whoever throws knows which it is; the command line gives
// each its exit status in one place (bench/command_line/ending.cc), so no caller asks what an
// exception is really about. A class derives from one of them only where a `catch` needs it apart.
//
// kernels/ has its own, because the two floors do not know each other: RequestError
// (kernels/op/request_error.h) for input, KernelFailed (kernels/kernel/failed_kernel.h) for a
// failure.

#ifndef TOPDNN_HARNESS_TEXT_ERRORS_H_
#define TOPDNN_HARNESS_TEXT_ERRORS_H_

#include <stdexcept>

namespace topdnn {

// What the user gave is wrong, or does not fit this machine: one line that says what is wrong,
// where, and the fix. Exit status 2.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The input is valid, and the run failed: a full disk, a process that crashed, a wrong result. One
// line. Exit status 1.
class RunFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// SIGINT or SIGTERM came before there was a result. Exit status 130.
class Interruption : public std::runtime_error {
 public:
  explicit Interruption(const char* what = "interrupted before there was a result")
      : std::runtime_error(what) {}
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_TEXT_ERRORS_H_
