// The share of the CPUs' time that other programs had while jobs ran, and the host of a virtual
// machine.

#ifndef TOPDNN_BENCH_STUDIES_OTHERS_SHARE_H_
#define TOPDNN_BENCH_STUDIES_OTHERS_SHARE_H_

#include <chrono>
#include <ctime>
#include <optional>

#include "harness/disturbance.h"

namespace topdnn {

class OthersShare {
 public:
  // From now on. The kernel's account is of all CPUs, so there is no share if the jobs may use only
  // some of them.
  explicit OthersShare(int cpus);

  // Until now. `jobs` are the CPU seconds of the jobs since the begin. The time of this process
  // does not count.
  std::optional<double> Share(double jobs) const;

 private:
  int cpus_;
  std::chrono::steady_clock::time_point begin_;
  std::optional<MachineTime> machine_;
  std::clock_t own_;
};

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_OTHERS_SHARE_H_
