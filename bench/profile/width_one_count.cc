#include "bench/profile/width_one_count.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bench/command_line/command.h"
#include "bench/validation/kernel_validation.h"
#include "bench/workload/images.h"
#include "bench/workload/stage_calls.h"
#include "kernels/kernel/thread_width.h"

namespace topdnn {

namespace {

bool LacksCounts(const StageSamples& samples) {
  return std::any_of(samples.run_counts.begin(), samples.run_counts.end(),
                     [](const EventCount& count) { return !count.value; });
}

// One counted step of the plan, with the sources that run the stages.
SequenceSamples CountStep(Plan& plan, const ProfileSettings& settings) {
  const StageCalls calls(plan);
  MeasureOptions options;
  options.iterations = 1;
  options.most_warmup_iterations = 1;
  options.cancel = settings.cancel;
  for (CounterSource* source : settings.sources) {
    if (source->runs_region()) options.sources.push_back(source);
  }
  const ThreadWidth width(plan.threads());
  return MeasureSequence(calls.stages(), options);
}

bool SameStage(const Stage& a, const Stage& b) { return a.name == b.name && a.pass == b.pass; }

// `how`: "at one thread", and the implementation if it differs there.
void Take(const StageSamples& alone, const std::string& how, int threads, StageSamples& samples) {
  for (std::size_t e = 0; e < samples.run_counts.size(); ++e) {
    const std::string at_width = samples.run_counts[e].reason;
    samples.run_counts[e] = alone.run_counts[e];
    samples.run_counts[e].reason = fmt::format("{}; at {}: {}", how, threads, at_width);
  }
}

// The step's counts are the sums over its stages, if each stage has counts.
void SumUp(SequenceSamples& samples) {
  for (std::size_t e = 0; e < samples.step.run_counts.size(); ++e) {
    EventCount sum = {.value = 0.0};
    for (const StageSamples& stage : samples.stages) {
      const EventCount& count = stage.run_counts[e];
      if (sum.reason.empty()) sum.reason = count.reason;
      if (sum.value && count.value) *sum.value += *count.value;
      if (!count.value) sum.value.reset();
    }
    samples.step.run_counts[e] = sum;
  }
}

}  // namespace

void CountAtWidthOne(const WorkloadOptions& options, bool training, const Plan& plan,
                     const ProfileSettings& settings, PlanProfile& profile) {
  SequenceSamples& samples = profile.in_network;
  if (plan.threads() == 1 || samples.run_events.empty() || samples.cancelled) return;
  if (std::none_of(samples.stages.begin(), samples.stages.end(), LacksCounts)) return;
  WorkloadOptions alone = options;
  alone.threads = 1;
  SequenceSamples counted;
  std::vector<std::string> implementations;
  try {
    Workload workload = MakeWorkload(alone, training);
    if (!std::equal(plan.stages().begin(), plan.stages().end(), workload.plan->stages().begin(),
                    workload.plan->stages().end(), SameStage)) {
      return;
    }
    TrainingImages images(alone, workload);
    images.FillNext(*workload.plan);
    LetPoolsPark();
    counted = CountStep(*workload.plan, settings);
    for (const Stage& stage : workload.plan->stages()) {
      implementations.push_back(stage.kernel->implementation());
    }
  } catch (const UsageError&) {
    return;  // (for example too little memory for a second plan: the counts stay absent, with their
             // reason)
  }
  if (counted.run_events != samples.run_events || counted.cancelled) return;
  for (std::size_t i = 0; i < samples.stages.size(); ++i) {
    if (LacksCounts(samples.stages[i])) {
      const std::string& here = plan.stages()[i].kernel->implementation();
      const bool same = implementations[i] == here;
      Take(counted.stages[i], same ? "at one thread" : "at one thread, by " + implementations[i],
           plan.threads(), samples.stages[i]);
    }
  }
  SumUp(samples);
}

}  // namespace topdnn
