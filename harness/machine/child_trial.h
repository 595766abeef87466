// Runs in a child process what may end its process: code that was just generated, on a machine that
// may be emulated, or redirected to other data.

#ifndef TOPDNN_HARNESS_MACHINE_CHILD_TRIAL_H_
#define TOPDNN_HARNESS_MACHINE_CHILD_TRIAL_H_

#include <functional>
#include <string>

namespace topdnn {

// How a trial ended.
struct TrialEnd {
  int error =
      0;  // errno of starting the child or of waiting for it, ENOMEM also of the trial itself
  bool succeeded = false;
  int signal = 0;  // that ended it; 0: none
};

// A fork of this process runs `trial` and ends. It fails if `trial` returns false or throws, and
// SIGALRM ends it after `seconds`. The child has no other threads, so OpenMP hangs in it, except in
// a thread that `trial` starts.
TrialEnd RunInChild(const std::function<bool()>& trial, unsigned seconds);

// "was ended by signal 11 (Segmentation fault)"; for SIGALRM "did not end".
std::string EndBySignal(int signal);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_MACHINE_CHILD_TRIAL_H_
