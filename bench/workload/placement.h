// On which CPUs the computing threads and the input pipeline run.

#ifndef TOPDNN_BENCH_WORKLOAD_PLACEMENT_H_
#define TOPDNN_BENCH_WORKLOAD_PLACEMENT_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness/machine/thread_cpus.h"

namespace topdnn {

// "shared": the operating system places all threads on all CPUs. "private": each computing thread
// has a CPU of its own, and the input pipeline has the others.
std::vector<std::string> PlacementNames();

// Holds the placement for its lifetime. The team of the OpenMP runtime computes.
class Placement {
 public:
  // Throws UsageError for "private" if the computing threads leave no CPU for the input pipeline,
  // or the operating system refuses.
  Placement(const std::string& name, int threads);

  const std::string& name() const { return name_; }
  // Each loader thread calls it when it starts.
  std::function<void()> LoaderStart() const;

 private:
  std::string name_;
  CpuDivision cpus_;  // empty if shared
  std::unique_ptr<ProcessOnCpus> computing_;
};

}  // namespace topdnn

#endif  // TOPDNN_BENCH_WORKLOAD_PLACEMENT_H_
