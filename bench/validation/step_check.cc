#include "bench/validation/step_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <set>
#include <utility>

#include "bench/command_line/command.h"
#include "bench/validation/known_checks.h"
#include "bench/workload/memory_needs.h"
#include "bench/workload/network_source.h"
#include "bench/workload/stage_calls.h"
#include "harness/text/errors.h"
#include "kernels/kernel/failed_kernel.h"
#include "networks/graph/zoo.h"

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

// The checks of one network in the cache.
struct KnownChecks {
  const CacheFolder& cache;
  nlohmann::ordered_json key;  // null: none

  std::optional<std::vector<CheckedStage>> Read() const {
    return key.is_null() ? std::nullopt : ReadKnownChecks(cache, key);
  }
  void Write(const std::vector<CheckedStage>& stages) const {
    if (!key.is_null()) WriteKnownChecks(cache, key, stages);
  }
};

bool AllAgree(const std::vector<StageCheck>& checks) {
  return std::all_of(checks.begin(), checks.end(), [](const auto& check) { return check.agrees; });
}

// Checks of all wanted stages of a plan, made now or by an earlier run.
struct MadeChecks {
  std::vector<CheckedStage> stages;
  std::optional<std::size_t> sampled;  // of an earlier run: how many were made again now
};

struct SmallChecks {
  MadeChecks made;
  std::string images;  // "2 images of 3x64x64"
};

using WantedStages = std::function<bool(const Stage&)>;

// Makes the checks of kSampledLayers layers again, and returns how many stages these are. Absent if
// one does not agree.
std::optional<std::size_t> CheckSample(Plan& plan, const WantedStages& wanted) {
  constexpr std::size_t kSampledLayers = 4;
  std::vector<CheckedStage> candidates;
  for (const Stage& stage : plan.stages()) {
    if (wanted(stage)) candidates.push_back({.name = stage.name});
  }
  const std::set<std::string> layers =
      SampleOfLayers(candidates, kSampledLayers, std::random_device()());
  std::size_t sampled = 0;
  const std::vector<StageCheck> checks = CheckStages(plan, [&](const Stage& stage) {
    const bool chosen = wanted(stage) && layers.contains(stage.name);
    sampled += chosen ? 1 : 0;
    return chosen;
  });
  return AllAgree(checks) ? std::optional(sampled) : std::nullopt;
}

// Checks the wanted stages of the plan, or only a sample of them if an earlier run checked an equal
// plan.
MadeChecks CheckPlan(Plan& plan, const WantedStages& wanted, const KnownChecks& known) {
  MadeChecks made;
  const std::optional<std::vector<CheckedStage>> earlier = known.Read();
  std::vector<StageCheck> agreeing(plan.stages().size());
  if (earlier && SameStages(*earlier, StagesOf(plan, agreeing))) {
    made.sampled = CheckSample(plan, wanted);
  }
  made.stages = StagesOf(plan, made.sampled ? std::move(agreeing) : CheckStages(plan, wanted));
  if (!made.sampled) known.Write(made.stages);
  return made;
}

// Checks the smaller network.
SmallChecks CheckSmall(const WorkloadOptions& options, bool training, const KnownChecks& known) {
  WorkloadOptions small_options = SmallOptions(options);
  Workload small = MakeSmall(options, training, small_options);
  TrainingImages images(small_options, small);
  images.FillNext(*small.plan);
  RequireMemory(BytesToCheck(*small.plan) + kLibraryBytes, "the check against the reference",
                "free memory");
  return {.made = CheckPlan(
              *small.plan, [](const Stage&) { return true; }, known),
          .images = fmt::format("{} images of {}", small.batch, small.image.ToString())};
}

// "in an earlier run of this program; 9 of 395 stages were checked again". `made` has a sample.
std::string NoteOfSample(const MadeChecks& made) {
  return fmt::format("in an earlier run of this program; {} of {} stages were checked again",
                     *made.sampled, made.stages.size());
}

// The check of each stage of the plan, taken from the smaller network. `own`: the checks of the
// plan's reorders.
StepChecks Match(const Plan& plan, const std::vector<CheckedStage>& own, const SmallChecks& small) {
  std::map<std::pair<std::string, std::string>, const CheckedStage*> twins;
  for (const CheckedStage& stage : small.made.stages) twins[{stage.name, stage.pass}] = &stage;
  StepChecks matched;
  int others = 0;
  for (std::size_t i = 0; i < plan.stages().size(); ++i) {
    const Stage& stage = plan.stages()[i];
    const auto twin = twins.find({stage.name, std::string(NameOf(stage.pass))});
    if (stage.pass == StagePass::kReorder) {
      matched.stages.push_back(own[i].check);
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
      "checked against the reference on {}, {}", small.images,
      others == 0 ? std::string("by the same implementations")
                  : fmt::format("{} of {} stages by another implementation than is timed", others,
                                plan.stages().size()));
  if (small.made.sampled) matched.note += ", " + NoteOfSample(small.made);
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
                     const CacheFolder& cache) {
  const Shape& input = plan.buffers()[plan.Find(BufferRole::kInput)].desc.shape;
  const bool smallest = IsOnnxPath(options.network) && input[0] == 1;
  const bool in_plan = smallest || MacsOf(plan) <= kMaxCheckedMacs;
  const KnownChecks of_network = {cache, KeyOfChecks(options, training)};
  KnownChecks of_plan = of_network;
  if (!of_plan.key.is_null()) {
    of_plan.key["of_plan"] = {
        {"input", input.ToString()}, {"data", options.data}, {"reorders", !in_plan}};
  }
  const auto check = [&](const WantedStages& wanted) { return CheckPlan(plan, wanted, of_plan); };
  if (in_plan) {
    RequireMemory(BytesToCheck(plan) + kLibraryBytes, "the check against the reference",
                  "take a smaller --batch");
    const MadeChecks made = check([](const Stage&) { return true; });
    StepChecks checks;
    for (const CheckedStage& stage : made.stages) checks.stages.push_back(stage.check);
    checks.note = made.sampled ? "checked against the reference " + NoteOfSample(made)
                               : NoteOfZeros(plan, checks.stages);
    return checks;
  }
  const MadeChecks own = check([](const Stage& s) { return s.pass == StagePass::kReorder; });
  StepChecks checks = Match(plan, own.stages, CheckSmall(options, training, of_network));
  if (const std::string zeros = NoteOfZeros(plan, checks.stages); !zeros.empty()) {
    checks.note += "; " + zeros;
  }
  return checks;
}

void RequireStep(const WorkloadOptions& options, bool training, Plan& plan) {
  const StepChecks checks = CheckStep(options, training, plan);
  for (std::size_t i = 0; i < checks.stages.size(); ++i) {
    if (checks.stages[i].agrees) continue;
    throw RunFailure(fmt::format("{} disagrees with the reference: {}", LabelOf(plan.stages()[i]),
                                 checks.stages[i].reason));
  }
}

}  // namespace topdnn
