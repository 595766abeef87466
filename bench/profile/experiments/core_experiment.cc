// The experiment on data in L1 (harness/experiments/core_experiment.h) on a plan.

#include "harness/experiments/core_experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "bench/command_line/command.h"
#include "bench/profile/experiments.h"
#include "bench/workload/stage_calls.h"
#include "harness/exact/counter.h"
#include "kernels/kernel/run_failure.h"
#include "kernels/kernel/thread_width.h"

namespace topdnn {

namespace {

// Six rounds of three modes take about 50 times the step, and some 0.1 s a stage.
constexpr double kLeastSeconds = 10;
constexpr double kLeastByDefault = 1;
// As a multiple of the profile's seconds: about, and if the network needs more.
constexpr double kFactor = 6;
constexpr double kMostFactor = 24;

// Redirected kernels of Eigen crashed (cnn's training, one thread and two).
bool RunsEigen(const Plan& plan) {
  return std::any_of(plan.stages().begin(), plan.stages().end(),
                     [](const Stage& stage) { return stage.backend.starts_with("eigen"); });
}

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

void CheckCoreSubject(const ExperimentSubject& subject) {
  if (kSanitized) {
    throw NothingMeasured("--experiment core: a build under AddressSanitizer executes other code");
  }
  if (RunsEigen(subject.plan)) {
    throw UsageError(
        "--experiment core: kernels of Eigen are not supported; take another --backend");
  }
  const Availability available = ExactCounter::Probe();
  if (!available.works) {
    throw NothingMeasured("--experiment core: the exact counter does not work here: " +
                          available.reason);
  }
}

std::vector<StageCore> MeasureCore(const ExperimentSubject& on) {
  const ThreadWidth width(on.plan.threads());
  const StageCalls calls(on.plan);
  auto feed = [&on] { on.images.FillNext(on.plan); };
  const CoreSubject subject = {.stages = calls.stages(),
                               .tensors = on.plan.BufferMemory(),
                               .threads = on.plan.threads(),
                               .before_iteration = Action::Of(feed)};
  // Each stage runs some hundred times in turn: the updates would train on one gradient.
  const std::vector<std::byte> state = on.plan.SaveState();
  const double least = on.by_default ? kLeastByDefault : kLeastSeconds;
  std::vector<StageCore> stages =
      RunCoreExperiment(subject, {.seconds = std::max(least, kFactor * on.settings.seconds),
                                  .most_seconds = kMostFactor * on.settings.seconds,
                                  .cancel = on.settings.cancel,
                                  .progress = on.settings.progress});
  on.plan.RestoreState(state);
  ThrowOnRunFailure();
  return stages;
}

void AddTo(const std::vector<StageCore>& stages, int threads, const BoundsMachine& machine,
           Report& report) {
  if (stages.size() != report.stages.size()) return;  // interrupted
  const double hertz = machine.seen.core_hertz_before.value_or(0);
  for (std::size_t i = 0; i < stages.size(); ++i) {
    Record& record = report.stages[i];
    record.core_reason = record.status >= Status::kInvalid
                             ? fmt::format("the record is {}", NameOf(record.status))
                             : stages[i].reason;
    if (threads > 1) record.waiting = WaitingShare(stages[i].waiting, stages[i].teams);
    if (!record.core_reason.empty()) continue;
    CoreJudgement judged = JudgeCore(stages[i].rounds, stages[i].counts, stages[i].cost,
                                     hertz * threads, stages[i].undisturbed);
    record.core_experiment = judged.result;
    record.core_reason = std::move(judged.reason);
  }
}

AddExperiment RunCore(const ExperimentSubject& subject) {
  return [stages = MeasureCore(subject), threads = subject.plan.threads()](
             const BoundsMachine& machine, Report& report) {
    AddTo(stages, threads, machine, report);
  };
}

const ExperimentRegistration kCore(
    {.name = "core",
     .help = "the time of each stage with all its data in L1, and how much of its time waits "
             "beyond L1, by redirecting its vector operands",
     .regimes = {Regime::kInNetwork, Regime::kIsolatedHot},
     .check = CheckCoreSubject,
     .run = RunCore,
     .by_default = true});

}  // namespace

}  // namespace topdnn
