// A plan's stages as callables for the harness.

#ifndef TOPDNN_BENCH_WORKLOAD_STAGE_CALLS_H_
#define TOPDNN_BENCH_WORKLOAD_STAGE_CALLS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "harness/measure/measure.h"
#include "kernels/kernel/registry.h"
#include "networks/plan/plan.h"

namespace topdnn {

// "conv1 forward": a stage's name in its samples.
inline std::string LabelOf(const Stage& stage) {
  return stage.name + " " + std::string(NameOf(stage.pass));
}

// One callable per stage, with the stage's label. The plan must outlive this object.
class StageCalls {
 public:
  explicit StageCalls(Plan& plan) {
    for (std::size_t i = 0; i < plan.stages().size(); ++i) calls_.push_back({&plan, i});
    for (Call& call : calls_) {
      const Stage& stage = plan.stages()[call.stage];
      // (as a line of kLateFaults begins, bench/command_line/kernel_trials.cc)
      stages_.push_back({LabelOf(stage), Action::Of(call),
                         stage.backend + " " + KernelKey(stage.request, *stage.kernel)});
    }
  }
  // (the stages point to the calls)
  StageCalls(const StageCalls&) = delete;
  StageCalls& operator=(const StageCalls&) = delete;

  const std::vector<TimedStage>& stages() const { return stages_; }

 private:
  struct Call {
    Plan* plan;
    std::size_t stage;
    void operator()() const noexcept { plan->RunStage(stage); }
  };

  std::vector<Call> calls_;
  std::vector<TimedStage> stages_;
};

}  // namespace topdnn

#endif  // TOPDNN_BENCH_WORKLOAD_STAGE_CALLS_H_
