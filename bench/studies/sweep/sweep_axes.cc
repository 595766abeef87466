#include "bench/studies/sweep/sweep_axes.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/command_line/command.h"
#include "bench/command_line/command_words.h"
#include "bench/command_line/nearest.h"
#include "bench/profile/plan_profile.h"
#include "bench/workload/network_source.h"
#include "bench/workload/placement.h"
#include "kernels/kernel/registry.h"
#include "networks/planning/plan_rules.h"

namespace topdnn {

namespace {

std::vector<std::string> BackendNames() {
  std::vector<std::string> names;
  for (const auto& name : Backends()) names.emplace_back(name);
  return names;
}

// No machine or image needs more digits. The limit keeps a typing mistake from asking for much
// memory.
constexpr std::size_t kMostDigits = 6;

bool IsNumber(const std::string& text) {
  return !text.empty() && text.size() <= kMostDigits &&
         text.find_first_not_of("0123456789") == std::string::npos;
}

void CheckValue(const SweepAxis& axis, const std::string& value) {
  if (axis.key == "network") CheckNetworkName(value);
  if (!axis.choices.empty()) CheckName("value for " + axis.option, value, axis.choices);
  if (axis.number && !IsNumber(value)) {
    throw UsageError(fmt::format("{} {}: must be whole numbers with commas between them: {} {}",
                                 axis.option, value, axis.option, axis.values));
  }
}

}  // namespace

const std::vector<SweepAxis>& SweepAxes() {
  static const std::vector<SweepAxis> axes = {
      {.key = "network",
       .option = "--networks",
       .values = "A,B",
       .help = "networks of the zoo, or .onnx files",
       .usual = "cnn"},
      {.key = "mode",
       .option = "--modes",
       .values = "train,infer",
       .help = "training or inference steps",
       .usual = "train",
       .choices = {"train", "infer"}},
      {.key = "batch",
       .option = "--batch",
       .values = "8,32",
       .help = "images per step",
       .usual = "32",
       .number = true},
      {.key = "dtype",
       .option = "--dtype",
       .values = "f32,bf16",
       .help = "element types of activations",
       .usual = "f32",
       .choices = {"f32", "bf16", "f16"}},
      {.key = "backend",
       .option = "--backend",
       .values = "onednn,eigen",
       .help = "implementations of the operations",
       .usual = "onednn",
       .choices = BackendNames()},
      {.key = "plan",
       .option = "--plan",
       .values = "best,tensorflow",
       .help = "what plans the step",
       .usual = std::string(kBestPlan),
       .choices = PlanNames()},
      {.key = "threads",
       .option = "--threads",
       .values = "1,2",
       .help = "computing threads",
       .number = true},
      {.key = "placement",
       .option = "--placement",
       .values = "shared,private",
       .help = "on which CPUs the computing threads and the loader threads run",
       .usual = "shared",
       .choices = PlacementNames()},
      {.key = "prefetch",
       .option = "--prefetch",
       .values = "0,2",
       .help = "batches that the input pipeline prepares ahead",
       .usual = "2",
       .number = true},
      {.key = "regime",
       .option = "--regime",
       .values = "in-network,isolated-hot",
       .help = "where the stages are timed",
       .usual = "in-network",
       .choices = RegimeNames()},
      {.key = "isa",
       .option = "--isa",
       .values = "avx2,avx512",
       .help = "the widest instructions that oneDNN may use",
       .usual = "any",
       .choices = {"any", "sse41", "avx2", "avx512", "avx512_bf16", "amx"}}};
  return axes;
}

std::vector<std::string> ParseAxis(const SweepAxis& axis, const std::string& values) {
  std::vector<std::string> parsed;
  for (std::string value : SplitAtCommas(values)) {
    CheckValue(axis, value);
    if (axis.number) value = fmt::format("{}", std::stoll(value));  // "01" is 1
    if (std::find(parsed.begin(), parsed.end(), value) != parsed.end()) {
      throw UsageError(fmt::format("{} {}: has {} twice: give it once, and --repeats for more runs",
                                   axis.option, values, value));
    }
    parsed.push_back(value);
  }
  if (parsed.empty()) {
    throw UsageError(
        fmt::format("{} '{}': the sweep has no case: give values with commas between "
                    "them: {} {}",
                    axis.option, values, axis.option, axis.values));
  }
  return parsed;
}

std::vector<CaseValues> Product(const AxisValues& values) {
  std::vector<CaseValues> cases = {{}};
  for (const SweepAxis& axis : SweepAxes()) {
    const auto given = values.find(axis.key);
    const std::vector<std::string> usual = {axis.usual};
    std::vector<CaseValues> extended;
    for (const CaseValues& one : cases) {
      for (const std::string& value : given == values.end() ? usual : given->second) {
        extended.push_back(one);
        extended.back()[axis.key] = value;
      }
    }
    cases = std::move(extended);
  }
  return cases;
}

}  // namespace topdnn
