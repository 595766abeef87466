#include "bench/validation/step_check.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "bench/command_line/command.h"
#include "bench/workload/memory_needs.h"
#include "bench/workload/network_source.h"
#include "networks/zoo/zoo.h"

namespace topdnn {

namespace {

std::int64_t MacsOf(const Plan& plan) {
  std::int64_t macs = 0;
  for (const Stage& stage : plan.stages()) macs += stage.work().macs;
  return macs;
}

using StageName = std::pair<std::string, StagePass>;

StageName NameOfStage(const Stage& stage) { return {stage.name, stage.pass}; }

// Only the batch of a file's network can be changed, not its size.
WorkloadOptions SmallOptions(const WorkloadOptions& options) {
  constexpr std::int64_t kBatch = 2;
  constexpr std::int64_t kClasses = 10;
  WorkloadOptions small = options;
  small.data = "synthetic";
  if (IsOnnxPath(options.network)) {
    small.batch = 1;
    return small;
  }
  small.batch = kBatch;
  small.classes = kClasses;
  small.size = FindNetwork(options.network)->small[1];
  small.weights.clear();  // (they have another size)
  return small;
}

// `small` uses the batch of `options` if the shapes of a file fix it.
Workload MakeSmall(const WorkloadOptions& options, bool training, WorkloadOptions& small) {
  try {
    return MakeWorkload(small, training);
  } catch (const UsageError&) {
    if (!IsOnnxPath(options.network)) throw;
    small.batch = options.batch;
    return MakeWorkload(small, training);
  }
}

// The check of each stage of the plan, taken from the smaller plan.
StepChecks Match(const Plan& plan, const std::vector<StageCheck>& own, const Plan& small,
                 const std::vector<StageCheck>& checks) {
  std::map<StageName, std::size_t> index;
  for (std::size_t i = 0; i < checks.size(); ++i) index[NameOfStage(small.stages()[i])] = i;
  StepChecks matched;
  int others = 0;
  for (std::size_t i = 0; i < plan.stages().size(); ++i) {
    const Stage& stage = plan.stages()[i];
    const auto found = index.find(NameOfStage(stage));
    if (stage.pass == StagePass::kReorder) {
      matched.stages.push_back(own[i]);
    } else if (found == index.end()) {
      StageCheck missing;
      missing.agrees = false;
      missing.reason = "the smaller network that was checked has no such stage";
      matched.stages.push_back(std::move(missing));
    } else {
      matched.stages.push_back(checks[found->second]);
      const Stage& twin = small.stages()[found->second];
      others += twin.kernel->implementation() != stage.kernel->implementation() ? 1 : 0;
    }
  }
  matched.note = others == 0
                     ? std::string("by the same implementations")
                     : fmt::format("{} of {} stages by another implementation than is timed",
                                   others, plan.stages().size());
  return matched;
}

}  // namespace

StepChecks CheckStep(const WorkloadOptions& options, bool training, Plan& plan) {
  const Shape& input = plan.buffers()[plan.Find(BufferRole::kInput)].desc.shape;
  const bool smallest = IsOnnxPath(options.network) && input[0] == 1;
  if (smallest || MacsOf(plan) <= kMaxCheckedMacs) {
    RequireMemory(BytesToCheck(plan) + kLibraryBytes, "the check against the reference",
                  "take a smaller --batch");
    return {CheckStages(plan), ""};
  }
  const std::vector<StageCheck> own =
      CheckStages(plan, [](const Stage& stage) { return stage.pass == StagePass::kReorder; });
  WorkloadOptions small_options = SmallOptions(options);
  Workload small = MakeSmall(options, training, small_options);
  TrainingImages images(small_options, small);
  images.FillNext(*small.plan);
  RequireMemory(BytesToCheck(*small.plan) + kLibraryBytes, "the check against the reference",
                "free memory");
  StepChecks checks = Match(plan, own, *small.plan, CheckStages(*small.plan));
  checks.note = fmt::format("checked against the reference on {} images of {}, {}", small.batch,
                            small.image.ToString(), checks.note);
  return checks;
}

}  // namespace topdnn
