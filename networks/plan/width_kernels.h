// The kernels of a plan for another number of threads.
//
// A oneDNN primitive is made for one number of threads. So a plan that changes its width while it
// runs needs a set of kernels for each width. All sets use the plan's buffers: the layouts, the
// algorithms and the backends are the plan's own, only the number of threads differs. A stage
// therefore may run on any set, whichever set has run the stage before it.

#ifndef TOPDNN_NETWORKS_PLAN_WIDTH_KERNELS_H_
#define TOPDNN_NETWORKS_PLAN_WIDTH_KERNELS_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "networks/plan/plan.h"

namespace topdnn {

class WidthKernels {
 public:
  // A stage that has no kernel for this width in the plan's layouts. The plan's own kernel runs it,
  // on the plan's number of threads.
  struct Kept {
    std::size_t stage;
    std::string reason;
  };

  // Makes and prepares the kernels. The plan is allocated, and outlives this object. Slow; another
  // thread may run the plan meanwhile.
  WidthKernels(const Plan& plan, int threads);

  int threads() const { return threads_; }
  const std::vector<Kept>& kept() const { return kept_; }
  // The OpenMP width that the calling thread must have when it runs the stage.
  int WidthOf(std::size_t stage) const noexcept { return runs_[stage].threads; }
  void RunStage(std::size_t stage) const noexcept { runs_[stage].kernel->Run(); }
  const Kernel& KernelOf(std::size_t stage) const { return *runs_[stage].kernel; }

 private:
  struct StageRun {
    Kernel* kernel;
    int threads;
  };

  int threads_;
  std::vector<std::unique_ptr<Kernel>> kernels_;  // those that are not the plan's
  std::vector<StageRun> runs_;                    // by stage
  std::vector<Kept> kept_;
  AlignedMemory scratch_;
};

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_PLAN_WIDTH_KERNELS_H_
