#include "harness/results/groups.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "harness/statistics/summary.h"

namespace topdnn {

namespace {

std::optional<double> Plus(std::optional<double> a, std::optional<double> b) {
  return a && b ? std::optional(*a + *b) : std::nullopt;
}

// Whether each of the report's stages has samples, all from the same number of iterations.
bool AreOf(std::span<const StageSamples> samples, const Report& report) {
  return samples.size() == report.stages.size() && !samples.empty() &&
         std::all_of(samples.begin(), samples.end(), [&](const StageSamples& stage) {
           return !stage.seconds.empty() && stage.seconds.size() == samples.front().seconds.size();
         });
}

// The iterations that are undisturbed for each of the stages.
std::vector<std::size_t> UndisturbedIterations(
    std::span<const StageSamples> samples, const std::function<bool(std::size_t stage)>& belongs) {
  const std::size_t iterations = samples.front().seconds.size();
  std::vector<std::size_t> kept_by(iterations, 0);
  std::size_t stages = 0;
  for (std::size_t s = 0; s < samples.size(); ++s) {
    if (!belongs(s) || samples[s].selection.kept.empty()) continue;
    ++stages;
    for (const std::size_t i : samples[s].selection.kept) ++kept_by.at(i);
  }
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < iterations; ++i) {
    if (kept_by[i] == stages) kept.push_back(i);
  }
  return kept;
}

GroupSummary Summed(const std::string& name, std::span<const StageSamples> samples,
                    const Report& report) {
  GroupSummary group{.name = name, .seconds = 0.0};
  const auto belongs = [&](std::size_t stage) {
    return GroupOfPass(report.stages[stage].pass) == name;
  };
  std::optional<double> flops = 0.0;
  std::optional<double> flops_for_ceiling = 0.0;
  double ceiling = 0;  // of all stages; 0: none, or several
  for (std::size_t s = 0; s < report.stages.size(); ++s) {
    if (!belongs(s)) continue;
    const Record& stage = report.stages[s];
    const double own = stage.ceiling_flops_per_second.value_or(0);
    if (group.stages == 0) ceiling = own;
    if (ceiling != own) ceiling = 0;
    ++group.stages;
    group.seconds = Plus(group.seconds, stage.Median());
    flops = Plus(flops, stage.flops);
    flops_for_ceiling = Plus(flops_for_ceiling, stage.FlopsForCeiling());
  }
  if (group.seconds && AreOf(samples, report)) {
    const std::size_t iterations = samples.front().seconds.size();
    const std::vector<std::size_t> kept = UndisturbedIterations(samples, belongs);
    if (AreEnough(kept.size(), iterations)) {
      group.per_iteration = Summarize(
          ValuesAt(SumsPerIteration(samples, belongs, &StageSamples::seconds, iterations), kept));
      group.seconds = group.per_iteration->median;
    }
  }
  if (!group.seconds || !flops || !(*group.seconds > 0)) return group;
  group.gflops = *flops / *group.seconds * 1e-9;
  if (ceiling > 0 && flops_for_ceiling) {
    group.peak_fraction = *flops_for_ceiling / *group.seconds / ceiling;
  }
  return group;
}

}  // namespace

std::string GroupOfPass(std::string_view pass) {
  return std::string(pass.starts_with("backward") ? "backward" : pass);
}

std::vector<double> SumsPerIteration(std::span<const StageSamples> stages,
                                     const std::function<bool(std::size_t stage)>& belongs,
                                     std::vector<double> StageSamples::*series,
                                     std::size_t iterations) {
  std::vector<double> sums(iterations, 0);
  for (std::size_t s = 0; s < stages.size(); ++s) {
    if (!belongs(s)) continue;
    const std::vector<double>& seconds = stages[s].*series;
    for (std::size_t i = 0; i < std::min(iterations, seconds.size()); ++i) sums[i] += seconds[i];
  }
  return sums;
}

void AddGroups(std::span<const StageSamples> samples, Report& report) {
  std::vector<std::string> names = {"forward", "backward", "update", "reorder", "loss"};
  for (const Record& stage : report.stages) {
    const std::string group = GroupOfPass(stage.pass);
    if (std::find(names.begin(), names.end(), group) == names.end()) names.push_back(group);
  }
  report.groups.clear();
  report.remainder_seconds = report.step.Median();
  for (const std::string& name : names) {
    GroupSummary group = Summed(name, samples, report);
    if (group.stages == 0) continue;
    if (report.remainder_seconds) {
      report.remainder_seconds =
          group.seconds ? std::optional(*report.remainder_seconds - *group.seconds) : std::nullopt;
    }
    report.groups.push_back(std::move(group));
  }
  // A remainder below the rounding error of the sums is 0.
  const double step = report.step.Median().value_or(0);
  if (report.remainder_seconds && std::abs(*report.remainder_seconds) < 1e-9 * step) {
    report.remainder_seconds = 0;
  }
}

std::optional<double> SecondsForShares(const Report& report) {
  if (report.step.status == Status::kFailed || !report.step.seconds) return std::nullopt;
  const double median = report.step.seconds->median;
  if (report.step.status != Status::kDegraded || report.stages.empty()) return median;
  double sum = 0;
  for (const Record& stage : report.stages) {
    if (stage.status == Status::kFailed || !stage.seconds) return median;
    sum += stage.seconds->median;
  }
  return std::min(sum, median);
}

}  // namespace topdnn
