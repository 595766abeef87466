#include "bench/profile/fed_steps.h"

#include <utility>
#include <vector>

#include "bench/workload/images.h"
#include "harness/measure/watched_run.h"
#include "kernels/kernel/run_failure.h"
#include "kernels/kernel/thread_width.h"

namespace topdnn {

namespace {

constexpr std::int64_t kLeastSteps = 3;
constexpr std::int64_t kMostSteps = 100000;

double Seconds(FedStepMarks::Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

// Runs steps one after another: each begins where the one before it has ended.
class FedSteps {
 public:
  FedSteps(BatchLoader& loader, Plan& plan) : loader_(loader), plan_(plan) {}

  FedStepTimes Next() {
    FedStepMarks marks;
    marks.begin = end_;
    const Batch& batch = loader_.Next();
    marks.arrived = FedStepMarks::Clock::now();
    FeedBatch(plan_, batch);
    marks.computes = FedStepMarks::Clock::now();
    plan_.Run();
    marks.computed = FedStepMarks::Clock::now();
    end_ = FedStepMarks::Clock::now();
    return marks.Until(end_);
  }

 private:
  BatchLoader& loader_;
  Plan& plan_;
  FedStepMarks::Clock::time_point end_ = FedStepMarks::Clock::now();
};

}  // namespace

FedStepTimes FedStepMarks::Until(Clock::time_point end) const {
  return {.input_wait = Seconds(arrived - begin),
          .compute = Seconds(computed - computes),
          .other = Seconds(computes - arrived) + Seconds(end - computed)};
}

std::optional<FedStep> MeasureFedSteps(const WorkloadOptions& options, const InputOptions& input,
                                       const Placement& placement, const Workload& workload,
                                       const FedStepSettings& settings) {
  DatasetPair images = OpenImages(options, workload);
  const auto source = AtSourceRate(std::move(images.train), input);
  LoaderOptions loading =
      LoaderOptionsOf(input, placement, workload.image, workload.batch, options.seed);
  loading.drop_last = source->size() >= workload.batch;
  BatchLoader loader(*source, loading);
  const ThreadWidth width(workload.plan->threads());
  const auto cancelled = [&] { return IsCancelled(settings.cancel); };
  FedSteps steps(loader, *workload.plan);
  // Batches that were prepared ahead hide a slow source, so the warm-up uses them up.
  const int ahead = loading.prefetch + 1;
  for (int i = 0; i < 2 * ahead && !cancelled(); ++i) steps.Next();
  std::vector<FedStepTimes> times;
  double passed = 0;
  const std::int64_t most = settings.iterations.value_or(kMostSteps);
  const std::int64_t least = settings.iterations.value_or(kLeastSteps);
  for (std::int64_t i = 0; i < most && !cancelled(); ++i) {
    if (i >= least && passed >= settings.seconds) break;
    const FedStepTimes& one = times.emplace_back(steps.Next());
    passed += one.input_wait + one.compute + one.other;
  }
  ThrowOnRunFailure();
  if (times.empty()) return std::nullopt;
  FedStep step{.source = source->name(),
               .prefetch = loading.prefetch,
               .loaders = loading.threads,
               .augmentation = input.augment,
               .placement = placement.name(),
               .times = std::move(times)};
  Summarize(step);
  return step;
}

}  // namespace topdnn
