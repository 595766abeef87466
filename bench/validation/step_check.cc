#include "bench/validation/step_check.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "bench/command_line/command.h"
#include "bench/validation/known_checks.h"
#include "bench/workload/memory_needs.h"
#include "bench/workload/network_source.h"
#include "bench/workload/stage_calls.h"
#include "kernels/failed_kernel.h"
#include "networks/zoo/zoo.h"

namespace topdnn {

namespace {

std::int64_t MacsOf(const Plan& plan) {
  std::int64_t macs = 0;
  for (const Stage& stage : plan.stages()) macs += stage.work().macs;
  return macs;
}

// Only the batch of a file's network can be changed, not its size.
WorkloadOptions SmallOptions(const WorkloadOptions& options) {
  constexpr std::int64_t kBatch = 2;
  constexpr std::int64_t kClasses = 10;
  WorkloadOptions small = options;
  small.data = "synthetic";
  if (IsOnnxPath(options.network)) {
    small.batch = 1;
    for (std::string& shape : small.input_shapes) {
      const std::size_t first = shape.rfind('=') + 1;
      shape.replace(first, shape.find('x', first) - first, "1");
    }
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
    small.input_shapes = options.input_shapes;
    return MakeWorkload(small, training);
  }
}

// The folder of checks, for one network.
struct KnownChecks {
  std::string folder;          // empty: none
  nlohmann::ordered_json key;  // null: none

  std::optional<NetworkChecks> Read() const {
    return key.is_null() ? std::nullopt : ReadKnownChecks(folder, key);
  }
  void Write(const NetworkChecks& checks) const {
    if (!key.is_null()) WriteKnownChecks(folder, key, checks);
  }
};

KnownChecks KnownFor(const std::string& folder, const WorkloadOptions& options, bool training) {
  return {folder, folder.empty() ? nullptr : KeyOfChecks(options, training)};
}

// Checks the wanted stages of the plan, or takes the checks of an equal plan.
std::vector<StageCheck> CheckPlan(Plan& plan, bool reorders_only, const Shape& input,
                                  const std::string& data, KnownChecks known) {
  NetworkChecks checks = {.batch = input[0], .image = input.ToString(), .stages = {}};
  if (!known.key.is_null()) {
    known.key["plan"] = {{"input", checks.image}, {"data", data}, {"reorders", reorders_only}};
    const auto earlier = known.Read();
    std::vector<StageCheck> agreeing(plan.stages().size());
    if (earlier && SameStages(earlier->stages, StagesOf(plan, agreeing))) return agreeing;
  }
  std::vector<StageCheck> made = CheckStages(plan, [&](const Stage& stage) {
    return !reorders_only || stage.pass == StagePass::kReorder;
  });
  checks.stages = StagesOf(plan, made);
  known.Write(checks);
  return made;
}

// Checks the smaller network, unless its checks are known.
NetworkChecks CheckSmall(const WorkloadOptions& options, bool training, const KnownChecks& known) {
  if (auto earlier = known.Read()) return *std::move(earlier);
  WorkloadOptions small_options = SmallOptions(options);
  Workload small = MakeSmall(options, training, small_options);
  TrainingImages images(small_options, small);
  images.FillNext(*small.plan);
  RequireMemory(BytesToCheck(*small.plan) + kLibraryBytes, "the check against the reference",
                "free memory");
  NetworkChecks checks = {.batch = small.batch,
                          .image = small.image.ToString(),
                          .stages = StagesOf(*small.plan, CheckStages(*small.plan))};
  known.Write(checks);
  return checks;
}

// The check of each stage of the plan, taken from the smaller network. `own`: the checks of the
// plan's reorders.
StepChecks Match(const Plan& plan, const std::vector<StageCheck>& own, const NetworkChecks& small) {
  std::map<std::pair<std::string, std::string>, const CheckedStage*> twins;
  for (const CheckedStage& stage : small.stages) twins[{stage.name, stage.pass}] = &stage;
  StepChecks matched;
  int others = 0;
  for (std::size_t i = 0; i < plan.stages().size(); ++i) {
    const Stage& stage = plan.stages()[i];
    const auto twin = twins.find({stage.name, std::string(NameOf(stage.pass))});
    if (stage.pass == StagePass::kReorder) {
      matched.stages.push_back(own[i]);
    } else if (twin == twins.end()) {
      StageCheck missing;
      missing.agrees = false;
      missing.reason = "the smaller network that was checked has no such stage";
      matched.stages.push_back(std::move(missing));
    } else {
      matched.stages.push_back(twin->second->check);
      others += twin->second->implementation != stage.kernel->implementation() ? 1 : 0;
    }
    // The smaller problem may pass where this one fails.
    if (std::string failure = FailureOf(*stage.kernel); !failure.empty()) {
      matched.stages.back().agrees = false;
      matched.stages.back().reason = std::move(failure);
    }
  }
  matched.note = fmt::format(
      "checked against the reference on {} images of {}, {}", small.batch, small.image,
      others == 0 ? std::string("by the same implementations")
                  : fmt::format("{} of {} stages by another implementation than is timed", others,
                                plan.stages().size()));
  return matched;
}

}  // namespace

std::string NoteOfZeros(const Plan& plan, const std::vector<StageCheck>& checks) {
  int count = 0;
  std::string first;
  for (std::size_t i = 0; i < checks.size(); ++i) {
    if (!checks[i].mostly_zero) continue;
    const Stage& stage = plan.stages()[i];
    if (count++ == 0) first = fmt::format("{} {}", stage.name, NameOf(stage.pass));
  }
  if (count == 0) return "";
  return fmt::format(
      "{} of {} stages (first: {}) have a result that is 99 % zeros or more on these images, so "
      "their check shows little; another --seed or larger images give other values",
      count, checks.size(), first);
}

StepChecks CheckStep(const WorkloadOptions& options, bool training, Plan& plan,
                     const std::string& known_checks) {
  const Shape& input = plan.buffers()[plan.Find(BufferRole::kInput)].desc.shape;
  const bool smallest = IsOnnxPath(options.network) && input[0] == 1;
  const KnownChecks known = KnownFor(known_checks, options, training);
  if (smallest || MacsOf(plan) <= kMaxCheckedMacs) {
    RequireMemory(BytesToCheck(plan) + kLibraryBytes, "the check against the reference",
                  "take a smaller --batch");
    StepChecks checks = {CheckPlan(plan, false, input, options.data, known), ""};
    checks.note = NoteOfZeros(plan, checks.stages);
    return checks;
  }
  const std::vector<StageCheck> own = CheckPlan(plan, true, input, options.data, known);
  StepChecks checks = Match(plan, own, CheckSmall(options, training, known));
  if (const std::string zeros = NoteOfZeros(plan, checks.stages); !zeros.empty()) {
    checks.note += "; " + zeros;
  }
  return checks;
}

void RequireStep(const WorkloadOptions& options, bool training, Plan& plan) {
  const StepChecks checks = CheckStep(options, training, plan);
  for (std::size_t i = 0; i < checks.stages.size(); ++i) {
    if (checks.stages[i].agrees) continue;
    throw std::runtime_error(fmt::format("{} disagrees with the reference: {}",
                                         LabelOf(plan.stages()[i]), checks.stages[i].reason));
  }
}

}  // namespace topdnn
