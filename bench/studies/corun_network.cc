#include "bench/studies/corun_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "bench/command_line/command.h"
#include "bench/validation/step_check.h"
#include "bench/workload/images.h"
#include "bench/workload/stage_calls.h"
#include "harness/counters/clock.h"
#include "harness/measure_loop.h"
#include "kernels/run_failure.h"
#include "kernels/thread_width.h"

namespace topdnn {

namespace {

class NetworkMember final : public Member {
 public:
  NetworkMember(const WorkloadOptions& options, bool training)
      : workload_(MakeWorkload(options, training)),
        images_(options, workload_),
        calls_(*workload_.plan),
        width_(workload_.plan->threads()),
        seconds_(calls_.stages().size()),
        marks_(calls_.stages().size() + 1) {
    images_.FillNext(*workload_.plan);
    Check(options, training);
    iteration_seconds_ = WarmUp([this] { Step(seconds_); });
    ThrowOnRunFailure();
  }

  std::vector<MemberStage> stages() const override {
    std::vector<MemberStage> stages;
    for (const Stage& stage : workload_.plan->stages()) {
      stages.push_back({stage.name, std::string(NameOf(stage.pass))});
    }
    return stages;
  }
  double iteration_seconds() const override { return iteration_seconds_; }

  void Run(const Window& window, IterationLog& log) override {
    RunIterations(
        window, seconds_, [this](std::span<double> seconds) { Step(seconds); }, log);
    ThrowOnRunFailure();
  }

 private:
  void Check(const WorkloadOptions& options, bool training) {
    const StepChecks checks = CheckStep(options, training, *workload_.plan);
    for (std::size_t i = 0; i < checks.stages.size(); ++i) {
      if (checks.stages[i].agrees) continue;
      throw std::runtime_error(fmt::format("{} disagrees with the reference: {}",
                                           LabelOf(workload_.plan->stages()[i]),
                                           checks.stages[i].reason));
    }
  }

  // The next batch is copied before the first mark, so it does not count.
  void Step(std::span<double> seconds) {
    images_.FillNext(*workload_.plan);
    RunMarked(calls_.stages(), clock_, marks_.data());
    for (std::size_t i = 0; i < seconds.size(); ++i) {
      seconds[i] = clock_.SecondsBetween(marks_[i], marks_[i + 1]).value_or(0);
    }
  }

  Workload workload_;
  TrainingImages images_;
  StageCalls calls_;
  ThreadWidth width_;
  TickClock clock_ = BestClock();
  std::vector<double> seconds_;
  std::vector<std::uint64_t> marks_;  // of an iteration
  double iteration_seconds_ = 0;
};

}  // namespace

std::unique_ptr<Member> MakeNetworkMember(WorkloadOptions options, bool training) {
  try {
    FitToData(options);
    return std::make_unique<NetworkMember>(options, training);
  } catch (const UsageError& error) {
    throw MemberRefusal(error.what());
  } catch (const DatasetError& error) {
    throw MemberRefusal(error.what());
  }
}

}  // namespace topdnn
