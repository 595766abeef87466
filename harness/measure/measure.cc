#include "harness/measure/measure.h"

#include <algorithm>

#include "harness/measure/counted_passes.h"
#include "harness/measure/measure_loop.h"
#include "harness/measure/watched_run.h"
#include "harness/statistics/summary.h"

namespace topdnn {

namespace {

class SequenceMeter {
 public:
  SequenceMeter(std::span<const TimedStage> stages, const MeasureOptions& options)
      : stages_(stages),
        options_(options),
        clock_(options.clock ? *options.clock : BestClock()),
        bounds_(BoundsOf(options, static_cast<std::int64_t>(stages.size() + 1))),
        // Zeroed, so that all pages are mapped before the measurement.
        marks_(static_cast<std::size_t>(bounds_.most) * (stages.size() + 1), 0) {
    CheckStages(stages);
    samples_.clock = clock_.name;
    samples_.stages.resize(stages.size());
    for (std::size_t i = 0; i < stages.size(); ++i) samples_.stages[i].name = stages[i].name;
    samples_.step.name = "step";
    ListEvents(options, samples_);
  }

  // The quiet check empties the caches, so it runs before the warm-up and after the last timed
  // iteration. Only short readings run between warm-up and timing: of the core's clock, of the
  // kernel's accounts, and of the time of a mark.
  SequenceSamples Measure() {
    const WatchedRun watched(stages_, marks_);
    Disturbance& seen = samples_.disturbance;
    if (options_.quiet_ratio) seen.quiet_ratio = options_.quiet_ratio();
    WarmUp();
    if (!samples_.cancelled) {
      WatchAndTime();
      if (options_.quiet_ratio) {
        const std::optional<double> again = options_.quiet_ratio();
        if (again) seen.quiet_ratio = std::min(seen.quiet_ratio.value_or(*again), *again);
      }
    }
    CountSequence(stages_, options_, clock_, samples_);
    return std::move(samples_);
  }

 private:
  void WarmUp() {
    const std::int64_t most = std::max<std::int64_t>(1, options_.most_warmup_iterations);
    SteadyWatch watch(options_.steady);
    MeasureLoop loop(options_, clock_, "warm-up");
    const auto is_warm = [&] {
      return watch.steady() && loop.Elapsed() >= options_.least_warmup_seconds;
    };
    while (!is_warm() && loop.Next(1, most, options_.most_warmup_seconds)) {
      RunMarked(stages_, clock_, marks_.data());
      loop.Finished();
      const auto seconds = [this](std::size_t from, std::size_t to) {
        return clock_.SecondsBetween(marks_[from], marks_[to]).value_or(0);
      };
      for (std::size_t s = 0; s < stages_.size(); ++s) {
        samples_.stages[s].warmup_seconds.push_back(seconds(s, s + 1));
      }
      samples_.step.warmup_seconds.push_back(seconds(0, stages_.size()));
      watch.Add(samples_.step.warmup_seconds.back());
    }
    samples_.warmup.steady = watch.steady();
    samples_.warmup.iterations = samples_.step.warmup_seconds.size();
    samples_.warmup.seconds = loop.Elapsed();
    samples_.cancelled = loop.cancelled();
  }

  void WatchAndTime() {
    Disturbance& seen = samples_.disturbance;
    if (options_.core_hertz) seen.core_hertz_before = options_.core_hertz();
    const KernelAccounts before = ReadKernelAccounts();
    Time();
    AddSpent(before, ReadKernelAccounts(), seen);
    if (options_.core_hertz) seen.core_hertz_after = options_.core_hertz();
  }

  void Time() {
    Disturbance& seen = samples_.disturbance;
    const double empty = EmptySeconds();
    samples_.step.empty_seconds = empty * static_cast<double>(stages_.size());
    for (StageSamples& stage : samples_.stages) stage.empty_seconds = empty;
    MeasureLoop loop(options_, clock_, "timing");
    std::vector<bool> was_switched;
    was_switched.reserve(static_cast<std::size_t>(bounds_.most));
    while (loop.Next(bounds_.least, bounds_.most, options_.seconds)) {
      const std::int64_t switches = InvoluntarySwitches();
      RunMarked(stages_, clock_, MarksOf(loop.done()));
      const std::int64_t switched = InvoluntarySwitches() - switches;
      seen.switched_iterations += switched > 0 ? 1 : 0;
      seen.involuntary_switches += switched;
      was_switched.push_back(switched > 0);
      loop.Finished();
    }
    samples_.cancelled = loop.cancelled();
    seen.iterations = loop.done();
    std::vector<double> unswitched;
    for (std::int64_t i = 0; i < loop.done(); ++i) {
      if (!KeepTimes(MarksOf(i))) continue;
      seen.seconds += samples_.step.seconds.back();
      if (!was_switched[static_cast<std::size_t>(i)]) {
        unswitched.push_back(samples_.step.seconds.back());
      }
    }
    if (unswitched.size() >= kMinUnswitched) {
      seen.switched_excess = Median(samples_.step.seconds) / Median(unswitched) - 1;
    }
  }

  std::uint64_t* MarksOf(std::int64_t iteration) {
    return &marks_[static_cast<std::size_t>(iteration) * (stages_.size() + 1)];
  }

  // One iteration's times, without those of the marks. Returns false if the clock went backwards:
  // the iteration is then counted as omitted.
  bool KeepTimes(const std::uint64_t* marks) {
    if (!std::is_sorted(marks, marks + stages_.size() + 1)) {
      for (StageSamples& stage : samples_.stages) ++stage.left_out;
      ++samples_.step.left_out;
      return false;
    }
    const auto keep = [&](std::size_t from, std::size_t to, StageSamples& into) {
      const double seconds = clock_.SecondsBetween(marks[from], marks[to]).value_or(0);
      into.seconds.push_back(std::max(0.0, seconds - into.empty_seconds));
    };
    for (std::size_t s = 0; s < stages_.size(); ++s) keep(s, s + 1, samples_.stages[s]);
    keep(0, stages_.size(), samples_.step);
    return true;
  }

  // The median time between two marks with nothing between them.
  double EmptySeconds() const {
    constexpr std::size_t kTries = 257;
    std::vector<std::uint64_t> marks(kTries + 1, 0);
    for (std::uint64_t& mark : marks) mark = clock_.now();
    std::vector<double> seconds;
    for (std::size_t i = 0; i < kTries; ++i) {
      seconds.push_back(clock_.SecondsBetween(marks[i], marks[i + 1]).value_or(0));
    }
    return Median(seconds);
  }

  std::span<const TimedStage> stages_;
  const MeasureOptions& options_;
  TickClock clock_;
  IterationBounds bounds_;
  std::vector<std::uint64_t> marks_;  // (iterations, stages + 1)
  SequenceSamples samples_;
};

}  // namespace

SequenceSamples MeasureSequence(std::span<const TimedStage> stages, const MeasureOptions& options) {
  return SequenceMeter(stages, options).Measure();
}

SequenceSamples MeasureIsolatedHot(const TimedStage& stage, Action setup,
                                   const MeasureOptions& options) {
  if (setup) setup();
  return MeasureSequence({&stage, 1}, options);
}

SequenceSamples MeasureIsolatedCold(const TimedStage& stage, Action setup, Action flush,
                                    const MeasureOptions& options) {
  MeasureOptions cold = options;
  cold.before_iteration = flush;
  return MeasureIsolatedHot(stage, setup, cold);
}

}  // namespace topdnn
