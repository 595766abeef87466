// The share of the CPUs' time that other programs, or the host of a virtual machine, had while jobs
// ran.

#ifndef TOPDNN_BENCH_STUDIES_COSCHED_OTHERS_SHARE_H_
#define TOPDNN_BENCH_STUDIES_COSCHED_OTHERS_SHARE_H_

#include <chrono>
#include <ctime>
#include <optional>

#include "harness/measure/disturbance.h"

namespace topdnn {

class OthersShare {
 public:
  // Begins to observe. `cpus` is the number of CPUs that the jobs may use. The kernel's account is
  // of all CPUs, so there is no share if the jobs may use only some of them.
  explicit OthersShare(int cpus);

  // The share until now. `jobs` are the CPU seconds of the jobs since this object was made. The
  // time of this process does not count.
  std::optional<double> Share(double jobs) const;

 private:
  int cpus_;
  std::chrono::steady_clock::time_point begin_;
  std::optional<MachineTime> machine_;
  std::clock_t own_;
};

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_COSCHED_OTHERS_SHARE_H_
