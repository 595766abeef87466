// `auto` for a whole network: which of a backend's ways to compute each convolution makes the step
// the fastest, found by timing steps. A kernel that wins by itself may lose in a network, by the
// reorders that its layouts need and by what it leaves in the caches.

#ifndef TOPDNN_BENCH_NETWORK_CHOICE_H_
#define TOPDNN_BENCH_NETWORK_CHOICE_H_

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "bench/workload.h"

namespace topdnn {

// Where options.backend is `auto`, sets options.variants to those of the fastest plan that was
// found, and returns a line about it; else does nothing and returns "". Plans the network several
// times and takes some twenty steps of each plan: seconds to a minute. Throws UsageError as
// PlanWorkload does, and std::runtime_error when interrupted.
std::string ChooseInNetwork(WorkloadOptions& options, bool training);

// What one way of computing all convolutions took, in seconds.
struct WayTimes {
  std::vector<double> step;                           // a round each
  std::map<std::string, std::vector<double>> layers;  // by problem: all its stages, reorders too
};

// Pure. For each problem the index of the way in which its stages took the least, by medians: the
// first, unless another takes 2 % less.
std::map<std::string, std::size_t> FastestWays(std::span<const WayTimes> ways);
// Pure. The way whose step took the least, by medians; the first, unless another takes 1 % less.
std::size_t FastestStep(std::span<const WayTimes> ways);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_NETWORK_CHOICE_H_
