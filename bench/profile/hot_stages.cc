#include "bench/profile/hot_stages.h"

#include <algorithm>
#include <utility>

#include "bench/workload/stage_calls.h"
#include "harness/exact/counter.h"
#include "harness/hot/known_form_costs.h"
#include "harness/user_cache/cache_folder.h"
#include "kernels/kernel/thread_width.h"

namespace topdnn {

namespace {

MeasuredCycles CyclesOfRecord(const Record& record, std::optional<double> seconds,
                              const HotDescription& how) {
  const double scale = how.hertz * how.threads;
  if (record.core_experiment) {
    const Interval& core = record.core_experiment->core_seconds;
    return {.cycles = (core.low + core.high) / 2 * scale, .data_in_l1 = true};
  }
  return {.cycles = seconds.value_or(0) * scale, .data_in_l1 = false};
}

}  // namespace

std::optional<double> FirstDecile(std::vector<double> seconds) {
  if (seconds.empty()) return std::nullopt;
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 10];
}

RegionBlocks CountBlocks(Action region) {
  RegionBlocks counted;
  if (const Availability available = ExactCounter::Probe(); !available.works) {
    counted.reason = available.reason;
    return counted;
  }
  const ExactCounts counts = ExactCounter::Count(region.function, region.context, &counted.blocks);
  if (!counts.complete) {
    counted.reason = counts.incomplete_reason;
  } else if (ReadExecutedCode(counted.blocks).executed <
             counts.instructions - counts.openmp_instructions) {
    // (a block that a signal interrupted counts as a whole there)
    counted.reason = "code that ran is not in memory any more, or has changed";
  }
  return counted;
}

std::vector<RegionBlocks> CountStageBlocks(Plan& plan, TrainingImages& images,
                                           const std::atomic<bool>* cancel) {
  const ThreadWidth width(plan.threads());
  images.FillNext(plan);
  const StageCalls calls(plan);
  std::vector<RegionBlocks> counted;
  counted.reserve(calls.stages().size());
  for (const TimedStage& stage : calls.stages()) {
    if (cancel != nullptr && cancel->load()) return {};
    counted.push_back(CountBlocks(stage.run));
  }
  return counted;
}

void AddHotLoops(const std::vector<RegionBlocks>& regions,
                 const std::vector<std::optional<double>>& seconds, const HotDescription& how,
                 std::vector<Record>& records) {
  if (regions.size() != records.size() || seconds.size() != records.size()) return;
  FormExamples examples;
  for (const RegionBlocks& region : regions) {
    if (region.reason.empty()) AddFormExamples(ReadExecutedCode(region.blocks), examples);
  }
  std::string why;
  const FormCosts costs = CostsOfForms(CacheFolder::OfUser(), examples, &why);
  CodePlaces places(ReadPerfMap(how.code_names));
  for (std::size_t i = 0; i < regions.size(); ++i) {
    Record& record = records[i];
    record.hot_reason = regions[i].reason;
    if (!record.hot_reason.empty()) continue;
    HotLoops hot =
        DescribeLoops(ReadExecutedCode(regions[i].blocks), costs, why, places, how.detail);
    JudgeBindings(CyclesOfRecord(record, seconds[i], how), hot);
    record.hot = std::move(hot);
  }
}

std::vector<std::optional<double>> UndisturbedSeconds(const PlanProfile& profile, Regime regime) {
  std::vector<std::optional<double>> seconds;
  seconds.reserve(profile.in_network.stages.size());
  for (std::size_t i = 0; i < profile.in_network.stages.size(); ++i) {
    const bool hot = regime != Regime::kIsolatedCold && i < profile.isolated.size();
    seconds.push_back(FirstDecile(hot ? profile.isolated[i].stages.front().seconds
                                      : profile.in_network.stages[i].seconds));
  }
  return seconds;
}

double HertzOf(const Disturbance& seen) {
  return std::max(seen.core_hertz_before.value_or(0), seen.core_hertz_after.value_or(0));
}

}  // namespace topdnn
