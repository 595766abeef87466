#include "bench/studies/corun/corun_network.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/command_line/command.h"
#include "bench/profile/plan_profile.h"
#include "bench/profile/width_one_count.h"
#include "bench/validation/step_check.h"
#include "bench/workload/images.h"
#include "bench/workload/stage_calls.h"
#include "harness/counters/clock.h"
#include "harness/counters/source.h"
#include "harness/measure/counted_passes.h"
#include "harness/measure/measure_loop.h"
#include "harness/results/stage_record.h"
#include "harness/statistics/summary.h"
#include "harness/text/errors.h"
#include "kernels/kernel/run_failure.h"
#include "kernels/kernel/thread_width.h"

namespace topdnn {

namespace {

class NetworkMember final : public Member {
 public:
  NetworkMember(const WorkloadOptions& options, bool training, const CorunCounting& counting)
      : workload_(MakeWorkload(options, training)),
        images_(options, workload_),
        calls_(*workload_.plan),
        width_(workload_.plan->threads()),
        seconds_(calls_.stages().size()),
        marks_(calls_.stages().size() + 1) {
    images_.FillNext(*workload_.plan);
    RequireStep(options, training, *workload_.plan);
    iteration_seconds_ = WarmUp([this] { Step(seconds_); });
    if (counting.exact) {
      CountExactly(options, training);
    } else {
      counts_.step.reason = "not asked for";
    }
    OpenPmu(counting);
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
  std::string message() const override { return FormatCountsMessage(counts_); }

  void Run(const Window& window, IterationLog& log) override {
    if (pmu_ != nullptr && window.setting == kCountedWindow) {
      ReadPmu(window, log);
    } else {
      RunIterations(
          window, seconds_, [this](std::span<double> seconds) { Step(seconds); }, log);
    }
    ThrowOnRunFailure();
  }

 private:
  // The next batch is copied before the first mark, so the copy is not timed.
  void Step(std::span<double> seconds) {
    images_.FillNext(*workload_.plan);
    RunMarked(calls_.stages(), clock_, marks_.data());
    for (std::size_t i = 0; i < seconds.size(); ++i) {
      seconds[i] = clock_.SecondsBetween(marks_[i], marks_[i + 1]).value_or(0);
    }
  }

  // Counts steps with the source for `seconds`, but at least one.
  SequenceSamples Count(CounterSource& source, double seconds) {
    SequenceSamples samples;
    samples.stages.resize(calls_.stages().size());
    MeasureOptions options;
    options.sources = {&source};
    options.seconds = seconds;
    options.before_iteration = Action::Of(feed_);
    samples.disturbance.iterations = options.most_counted_iterations;
    ListEvents(options, samples);
    CountSequence(calls_.stages(), options, clock_, samples);
    return samples;
  }

  // Counts as a profile does: at one thread, the stages that cannot be counted at this width.
  void CountExactly(const WorkloadOptions& options, bool training) {
    const auto& offers = CounterSources();
    const auto offer = std::find_if(offers.begin(), offers.end(),
                                    [](const SourceOffer& one) { return one.name == "exact"; });
    Availability availability;
    availability.reason = "this build has no exact counter";
    if (offer != offers.end()) availability = offer->probe();
    if (!availability.works) {
      counts_.step.reason = WhyNot(availability);
      return;
    }
    const std::unique_ptr<CounterSource> source = offer->open();
    PlanProfile profile;
    profile.in_network = Count(*source, 0);
    ProfileSettings settings;
    settings.sources = {source.get()};
    CountAtWidthOne(options, training, *workload_.plan, settings, profile);
    const SequenceSamples& samples = profile.in_network;
    const auto add = [&samples](const StageSamples& of, CorunCounts& counts) {
      Record record;
      AddRunCounts(of, samples.run_events, record);
      counts.events = record.events;
      counts.flops = record.flops_counted;
      counts.reason = record.counts_reason;
    };
    add(samples.step, counts_.step);
    counts_.stages.resize(samples.stages.size());
    for (std::size_t i = 0; i < samples.stages.size(); ++i) {
      add(samples.stages[i], counts_.stages[i]);
    }
  }

  void OpenPmu(const CorunCounting& counting) {
    counts_.refusal = "not asked for";
    if (!counting.open_perf) return;
    OpenedPerf opened = counting.open_perf();
    if (opened.source == nullptr) {
      counts_.refusal = "not supported: " + WhyNot(opened.availability);
      return;
    }
    counts_.refusal.clear();
    pmu_ = std::move(opened.source);
    counts_.events = pmu_->events();
    for (std::size_t e = 0; e < counts_.events.size(); ++e) {
      counts_.event_passes.push_back(pmu_->pass_of(e));
    }
    constexpr int kReadings = 33;
    pmu_->Begin(0);
    std::vector<std::uint64_t> raw(pmu_->slots());
    std::vector<double> seconds;
    for (int i = 0; i < kReadings; ++i) {
      const std::uint64_t before = clock_.now();
      pmu_->Read(raw.data());
      seconds.push_back(clock_.SecondsBetween(before, clock_.now()).value_or(0));
    }
    pmu_->End();
    counts_.reading_seconds = Median(seconds);
  }

  // Counts that end after the window are left out: the other workloads may sleep by then.
  void ReadPmu(const Window& window, IterationLog& log) {
    std::this_thread::sleep_until(window.begin);
    Step(seconds_);  // refills the caches
    const auto now = GroupClock::now();
    const std::chrono::duration<double> left = window.end - now;
    const std::chrono::duration<double> iteration = now - window.begin;
    // Each pass may end an iteration late, and the readings make an iteration longer.
    const double margin = 1.5 * static_cast<double>(pmu_->passes() + 1) *
                          std::max(iteration_seconds_, iteration.count());
    const SequenceSamples samples = Count(*pmu_, std::max(left.count() - margin, 0.0));
    if (GroupClock::now() <= window.end) log.Add(WindowCounts(samples));
  }

  struct Feed {
    NetworkMember* member;
    void operator()() const { member->images_.FillNext(*member->workload_.plan); }
  };

  Workload workload_;
  TrainingImages images_;
  StageCalls calls_;
  ThreadWidth width_;
  TickClock clock_ = BestClock();
  std::vector<double> seconds_;
  std::vector<std::uint64_t> marks_;  // of an iteration
  double iteration_seconds_ = 0;
  Feed feed_{this};
  CountsMessage counts_;
  std::unique_ptr<CounterSource> pmu_;  // null: it is not read
};

}  // namespace

std::unique_ptr<Member> MakeNetworkMember(WorkloadOptions options, bool training,
                                          const CorunCounting& counting) {
  try {
    FitToData(options);
    return std::make_unique<NetworkMember>(options, training, counting);
  } catch (const DatasetError& error) {
    throw InputError(error.what());
  }
}

}  // namespace topdnn
