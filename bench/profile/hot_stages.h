// The loops that a plan's stages, or one kernel, execute, and what binds them.

#ifndef TOPDNN_BENCH_PROFILE_HOT_STAGES_H_
#define TOPDNN_BENCH_PROFILE_HOT_STAGES_H_

#include <string>
#include <vector>

#include "bench/profile/plan_profile.h"
#include "bench/workload/images.h"
#include "harness/exact/block_profile.h"
#include "harness/hot/describe_loops.h"
#include "harness/results/record.h"

namespace topdnn {

// What a region executed, or why that is not known.
struct RegionBlocks {
  BlockProfile blocks;
  std::string reason;
};

// Runs the region once, counted.
RegionBlocks CountBlocks(Action region);
// Runs one step of the plan, each stage counted by itself.
std::vector<RegionBlocks> CountStageBlocks(Plan& plan, TrainingImages& images,
                                           const std::atomic<bool>* cancel);

// How the loops are described.
struct HotDescription {
  std::string code_names;  // of generated code, as a perf map
  LoopDetail detail;
  int threads = 1;
  double hertz = 0;  // of the cores; 0: unknown, so that nothing can be compared with the model
};

// Sets `hot` or `hot_reason` of the records, in the order of `regions`. A record of a core
// experiment is judged by its time, others by `seconds`: the undisturbed times of the stages by
// themselves, absent where there are none.
void AddHotLoops(const std::vector<RegionBlocks>& regions,
                 const std::vector<std::optional<double>>& seconds, const HotDescription& how,
                 std::vector<Record>& records);

// The first decile of each stage's times by itself with hot caches, or else in the network.
std::vector<std::optional<double>> UndisturbedSeconds(const PlanProfile& profile, Regime regime);

// The undisturbed time among repeated ones: the first decile; absent without times.
std::optional<double> FirstDecile(std::vector<double> seconds);

// The core's clock during a measurement; 0: unknown.
double HertzOf(const Disturbance& seen);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_PROFILE_HOT_STAGES_H_
