// The experiment on the number of threads: the plan is made again for 1, 2, 4, ... threads, and the
// steps of all plans are timed in turn.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "bench/command_line/command.h"
#include "bench/profile/experiments.h"
#include "bench/workload/stage_calls.h"
#include "harness/experiments/experiment_error.h"
#include "harness/experiments/interleaved.h"
#include "harness/experiments/ratios.h"
#include "kernels/kernel/run_failure.h"
#include "kernels/kernel/thread_width.h"

namespace topdnn {

namespace {

// 1, 2, 4, ... and the plan's own.
std::vector<int> WidthsFromOne(int threads) {
  std::vector<int> widths;
  for (int width = 1; width < threads; width *= 2) widths.push_back(width);
  widths.push_back(threads);
  return widths;
}

// A plan for one number of threads, and what runs it.
class PlanOfWidth {
 public:
  // On the profile's own plan.
  explicit PlanOfWidth(const ExperimentSubject& subject)
      : plan_(&subject.plan), images_(&subject.images), calls_(*plan_) {}
  PlanOfWidth(const WorkloadOptions& options, bool training)
      : workload_(MakeWorkload(options, training)),
        plan_(workload_.plan.get()),
        own_images_(std::make_unique<TrainingImages>(options, workload_)),
        images_(own_images_.get()),
        calls_(*plan_) {}
  PlanOfWidth(const PlanOfWidth&) = delete;
  PlanOfWidth& operator=(const PlanOfWidth&) = delete;

  const Plan& plan() const { return *plan_; }
  Condition AsCondition() {
    return {.stages = calls_.stages(),
            .before_iteration = Action::Of(feed_),
            .enter = [this] { width_ = std::make_unique<ThreadWidth>(plan_->threads()); },
            .leave = [this] { width_.reset(); }};
  }

 private:
  struct Feed {
    PlanOfWidth* of;
    void operator()() const { of->images_->FillNext(*of->plan_); }
  };

  Workload workload_;
  Plan* plan_;
  std::unique_ptr<TrainingImages> own_images_;
  TrainingImages* images_;
  StageCalls calls_;
  Feed feed_{this};
  std::unique_ptr<ThreadWidth> width_;
};

bool SameStages(const Plan& a, const Plan& b) {
  return std::equal(
      a.stages().begin(), a.stages().end(), b.stages().begin(), b.stages().end(),
      [](const Stage& x, const Stage& y) { return x.name == y.name && x.pass == y.pass; });
}

void CheckWidthSubject(const ExperimentSubject& subject) {
  if (subject.plan.threads() > 1) return;
  throw UsageError(
      "--experiment width: needs 2 threads or more, and this run has 1: set --threads");
}

struct WidthTimes {
  std::vector<int> threads;
  ConditionTimes times;             // by number of threads, stage, round
  ConditionTimes waited;            // RoundOptions::waited
  std::vector<std::string> doubts;  // by stage
};

// Names the plans that run another implementation of the stage than the widest plan; or empty.
std::string DoubtAbout(std::size_t stage, const std::vector<std::unique_ptr<PlanOfWidth>>& plans) {
  const auto implementation = [stage](const Plan& plan) {
    return plan.stages()[stage].kernel->implementation();
  };
  const Plan& widest = plans.back()->plan();
  std::vector<std::string> others;
  for (const auto& narrower : plans) {
    const std::string other = implementation(narrower->plan());
    if (other == implementation(widest)) continue;
    others.push_back(fmt::format("{} on {}", other, narrower->plan().threads()));
  }
  if (others.empty()) return "";
  return fmt::format("another implementation on fewer threads: {} instead of {}",
                     fmt::join(others, ", "), implementation(widest));
}

WidthTimes MeasureWidths(const ExperimentSubject& subject) {
  WidthTimes measured;
  measured.threads = WidthsFromOne(subject.plan.threads());
  std::vector<std::unique_ptr<PlanOfWidth>> plans;
  std::vector<Condition> conditions;
  try {
    for (const int threads : measured.threads) {
      if (threads == subject.plan.threads()) {
        plans.push_back(std::make_unique<PlanOfWidth>(subject));
      } else {
        WorkloadOptions narrower = subject.options;
        narrower.threads = threads;
        plans.push_back(std::make_unique<PlanOfWidth>(narrower, subject.training));
      }
    }
  } catch (const UsageError& e) {  // for example too little memory for another plan
    throw ExperimentError(e.what());
  }
  for (const auto& plan : plans) {
    if (!SameStages(plan->plan(), subject.plan)) {
      throw ExperimentError(fmt::format("the plan for {} threads has other stages than that for {}",
                                        plan->plan().threads(), subject.plan.threads()));
    }
    conditions.push_back(plan->AsCondition());
  }
  for (std::size_t i = 0; i < subject.plan.stages().size(); ++i) {
    measured.doubts.push_back(DoubtAbout(i, plans));
  }
  measured.times = RunRounds(subject, conditions, measured.waited);
  ThrowOnRunFailure();
  return measured;
}

void AddTo(const WidthTimes& measured, Report& report) {
  constexpr const char* kTooFewRounds = "too few rounds for an interval";
  if (measured.doubts.size() != report.stages.size()) return;  // interrupted
  AddRounds(measured.times, measured.waited, report,
            [&](std::size_t stage, const RecordRounds& own, Record& record) {
              record.width_reason = own.why_not;
              if (!own.why_not.empty()) return;
              record.width_experiment = ScalingOf(measured.threads, own.seconds);
              if (!record.width_experiment) {
                record.width_reason = kTooFewRounds;
              } else if (stage < measured.doubts.size()) {
                record.width_experiment->doubt = measured.doubts[stage];
              }
            });
}

AddExperiment RunWidth(const ExperimentSubject& subject) {
  return [measured = MeasureWidths(subject)](const BoundsMachine&, Report& report) {
    AddTo(measured, report);
  };
}

const ExperimentRegistration kWidth(
    {.name = "width",
     .help = "how each stage scales from 1 thread to --threads, and its serial share",
     .regimes = {Regime::kInNetwork},
     .check = CheckWidthSubject,
     .run = RunWidth});

}  // namespace

}  // namespace topdnn
