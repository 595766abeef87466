// `auto` for a whole network: finds, by timing steps, the variant of each pass of each convolution
// and pooling with which the step is fastest. The fastest kernel by itself may be slower in a
// network, because of the reorders that its layouts need and of the data that it leaves in the
// caches.

#ifndef TOPDNN_BENCH_CHOICE_NETWORKS_NETWORK_CHOICE_H_
#define TOPDNN_BENCH_CHOICE_NETWORKS_NETWORK_CHOICE_H_

#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "bench/choice/races/selection_cache.h"
#include "bench/workload/workload.h"

namespace topdnn {

// If options.backend is `auto`, sets options.variants to those of the fastest plan found, and
// returns a line about it; otherwise does nothing and returns "". Plans the network several times
// and runs up to 28 steps of each plan, or 140 short ones: seconds to a minute. The choice is
// cached (selection_cache.h) unless the machine was disturbed. Throws as PlanWorkload and
// TrainingImages do, and Interruption when interrupted.
std::string ChooseInNetwork(WorkloadOptions& options, bool training);
// The same with another cache than the user's.
std::string ChooseInNetworkWith(SelectionCache& cache, WorkloadOptions& options, bool training);

// What the choice depends on: the plan with the backend's own choice (its kernels, layouts and the
// problems of its convolutions, poolings and batch normalizations), the threads and the machine.
// Plans the network.
SelectionKey KeyOfNetwork(const WorkloadOptions& options, bool training);

// The times of one variant for all layers, in seconds.
struct VariantTimes {
  std::vector<double> step;  // by round
  // By round, for a problem, and for a pass of a problem ("PROBLEM backward_data"): the sum over
  // the stages of its layers, including their reorders.
  std::map<std::string, std::vector<double>> layers;
};

// Pure. For each key of `layers`, the index of the variant with the smallest median time of its
// stages: the first, unless another takes 2 % less.
std::map<std::string, std::size_t> FastestVariants(std::span<const VariantTimes> candidates);
// Pure. The estimated time of the step of the fastest variant, with the fastest variant of each key
// instead: medians, without the reorders between stages of different variants.
double MixedStep(std::span<const VariantTimes> candidates, const std::set<std::string>& keys);
// Pure. The index of the variant with the smallest median time of the step: the first, unless
// another takes 1 % less.
std::size_t FastestStep(std::span<const VariantTimes> candidates);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_CHOICE_NETWORKS_NETWORK_CHOICE_H_
