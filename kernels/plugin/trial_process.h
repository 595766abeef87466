// The process that starts a new process for each trial of a plug-in.
//
// It is a fork of this program from before its first parallel region, and stays small and
// single-threaded: a fork of a process with OpenMP's threads could not use them.

#ifndef TOPDNN_KERNELS_PLUGIN_TRIAL_PROCESS_H_
#define TOPDNN_KERNELS_PLUGIN_TRIAL_PROCESS_H_

#include <sys/types.h>

#include <mutex>
#include <string>

#include "kernels/plugin/trial.h"

namespace topdnn {

class TrialProcess {
 public:
  // Forks. The trial of a plug-in's function may take `most_seconds`. Call it before the process
  // starts threads. Throws std::system_error.
  explicit TrialProcess(double most_seconds);
  ~TrialProcess();
  TrialProcess(const TrialProcess&) = delete;
  TrialProcess& operator=(const TrialProcess&) = delete;

  // The answer of a trial (trial.h), whatever happens to its process. Any thread.
  TrialAnswer Run(const std::string& trial);

 private:
  std::mutex mutex_;
  pid_t owner_;  // this process: its own forks may not use the connection
  pid_t process_ = -1;
  int connection_ = -1;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_PLUGIN_TRIAL_PROCESS_H_
