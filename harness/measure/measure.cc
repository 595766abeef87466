#include "harness/measure/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "harness/measure/counted_passes.h"
#include "harness/measure/measure_loop.h"
#include "harness/measure/span_marker.h"
#include "harness/measure/waiting_accounts.h"
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
        bounds_(BoundsOf(options, static_cast<std::int64_t>(stages.size() + 1))) {
    CheckStages(stages);
    samples_.clock = clock_.name;
    samples_.stages.resize(stages.size());
    for (std::size_t i = 0; i < stages.size(); ++i) samples_.stages[i].name = stages[i].name;
    samples_.step.name = "step";
    samples_.best_speeds = options.best_speeds;
    ListEvents(options, samples_);
  }

  // The probes empty the caches, so they run before the warm-up and after the last timed iteration.
  // Only short readings run between warm-up and timing: of the core's clock, of the kernel's
  // accounts, and of the time of a mark. For probes between iterations, see MeasureOptions.
  SequenceSamples Measure() {
    SpanMark& first = samples_.marks.emplace_back();
    if (options_.speeds) first.speed = options_.speeds(false);
    WarmUp();
    if (!samples_.cancelled) WatchAndTime();
    CountSequence(stages_, options_, clock_, samples_);
    SelectSamples(samples_);
    return std::move(samples_);
  }

 private:
  void WarmUp() {
    const std::int64_t most = std::max<std::int64_t>(1, options_.most_warmup_iterations);
    SteadyWatch watch(options_.steady);
    MeasureLoop loop(options_, clock_, "warm-up");
    std::vector<std::uint64_t> marks(stages_.size() + 1, 0);
    const WatchedRun watched(stages_, marks);
    const auto is_warm = [&] {
      return watch.steady() && loop.Elapsed() >= options_.least_warmup_seconds;
    };
    while (!is_warm() && loop.Next(1, most, options_.most_warmup_seconds)) {
      RunMarked(stages_, clock_, marks.data());
      loop.Finished();
      const auto seconds = [&](std::size_t from, std::size_t to) {
        return clock_.SecondsBetween(marks[from], marks[to]).value_or(0);
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

  // A stage's time in the warm-up that other work hardly lengthened.
  static double WarmSeconds(const StageSamples& samples) {
    const std::span<const double> seconds(samples.warmup_seconds);
    constexpr std::size_t kLast = 9;
    return Summarize(seconds.last(std::min(seconds.size(), kLast))).min;
  }

  void WatchAndTime() {
    Disturbance& seen = samples_.disturbance;
    if (options_.core_hertz) seen.core_hertz_before = options_.core_hertz();
    const KernelAccounts before = ReadKernelAccounts();
    Time(before);
    AddSpent(before, ReadKernelAccounts(), seen);
  }

  void Time(const KernelAccounts& before) {
    Disturbance& seen = samples_.disturbance;
    const double empty = EmptySeconds(clock_);
    samples_.step.empty_seconds = empty * static_cast<double>(stages_.size());
    for (StageSamples& stage : samples_.stages) stage.empty_seconds = empty;
    WaitingAccounts waiting(options_, clock_);
    std::vector<double> warm;
    for (const StageSamples& stage : samples_.stages) warm.push_back(WarmSeconds(stage));
    const std::int64_t most = MostIterations();
    waiting.Prepare(warm, most);
    // Each stage and each part has a mark. They are mapped row by row, before an iteration.
    const std::size_t row = stages_.size() + waiting.parts().size();
    const auto marks =
        std::make_unique_for_overwrite<std::uint64_t[]>(row * static_cast<std::size_t>(most));
    std::vector<std::int64_t> switches;
    switches.reserve(static_cast<std::size_t>(most));
    SpanMarker marker(options_, clock_, before, WarmSeconds(samples_.step), samples_.marks);
    MeasureLoop loop(options_, clock_, "timing");
    const auto between = [&] {
      marker.BetweenIterations(loop.done(), [this] { RunBare(); });
      return waiting.AreEnough(loop.done());
    };
    while (Next(between(), most, loop)) {
      std::uint64_t* const own = &marks[static_cast<std::size_t>(loop.done()) * row];
      std::fill_n(own, row, 0);
      const WatchedRun watched(stages_, {own, row}, waiting.parts());
      const std::int64_t before_it = InvoluntarySwitches();
      RunInParts(own, waiting);
      switches.push_back(InvoluntarySwitches() - before_it);
      loop.Finished();
    }
    waiting.End();
    if (options_.core_hertz) seen.core_hertz_after = options_.core_hertz();
    marker.AfterIterations(loop.done());
    samples_.cancelled = loop.cancelled();
    KeepTimes({marks.get(), row * switches.size()}, waiting, switches);
    seen.judged = true;
    seen.iterations = loop.done();
    for (const double seconds : samples_.step.seconds) seen.seconds += seconds;
    for (const std::int64_t switched : switches) {
      seen.switched_iterations += switched > 0 ? 1 : 0;
      seen.involuntary_switches += switched;
    }
  }

  // Whether to time another iteration. `enough`: enough of them are undisturbed; if not, up to
  // `most` are timed.
  bool Next(bool enough, std::int64_t most, MeasureLoop& loop) {
    if (options_.iterations) return loop.Next(bounds_.least, bounds_.most, 0);
    const double least_seconds = WarmSeconds(samples_.step) * static_cast<double>(bounds_.least);
    const double budget = std::max(options_.budget_seconds, 2 * least_seconds);
    const bool spent = loop.Elapsed() >= budget;
    if (spent && loop.done() > 0 && loop.done() < bounds_.least) {
      samples_.cut_short = fmt::format("timing ended after {:.0f} s with {} of {} iterations",
                                       loop.Elapsed(), loop.done(), bounds_.least);
    }
    const double seconds = enough ? options_.seconds : kPatience * options_.seconds;
    return loop.Next(spent ? 1 : bounds_.least, enough ? bounds_.most : most,
                     std::min(seconds, budget));
  }

  // Iterations that may be timed; more than bounds_.most only to get enough undisturbed ones.
  std::int64_t MostIterations() const {
    if (options_.iterations) return bounds_.most;
    const auto row = static_cast<std::int64_t>(2 * stages_.size());
    return std::max(bounds_.most, std::min(4 * bounds_.most, kMaxNumbers / row));
  }

  void RunBare() {
    if (options_.before_iteration) options_.before_iteration();
    for (const TimedStage& stage : stages_) stage.run();
  }

  // The measured region, with a reading of the scheduler's accounts after each part.
  void RunInParts(std::uint64_t* mark, WaitingAccounts& waiting) {
    waiting.BeginIteration();
    std::size_t first = 0;
    for (const std::size_t last : waiting.parts()) {
      RunMarked(stages_.subspan(first, last - first), clock_, mark);
      waiting.EndPart();
      mark += last - first + 1;
      first = last;
    }
  }

  // The times without those of the marks. An iteration in which the clock went backwards is counted
  // as omitted.
  void KeepTimes(std::span<const std::uint64_t> marks, const WaitingAccounts& waiting,
                 std::span<const std::int64_t> switches) {
    const std::vector<std::size_t>& parts = waiting.parts();
    const std::size_t row = stages_.size() + parts.size();
    std::vector<double> part_seconds;
    for (std::size_t i = 0; i < switches.size(); ++i) {
      std::size_t begin = i * row;
      for (std::size_t p = 0; p < parts.size(); ++p) {
        const std::size_t end = begin + parts[p] - (p == 0 ? 0 : parts[p - 1]);
        part_seconds.push_back(clock_.SecondsBetween(marks[begin], marks[end]).value_or(0));
        begin = end + 1;
      }
    }
    const std::vector<double> shares = waiting.SharesOf(part_seconds);
    const std::vector<double> paces = waiting.Paces();
    std::vector<std::int64_t> kept_before;
    for (std::size_t i = 0; i < switches.size(); ++i) {
      kept_before.push_back(static_cast<std::int64_t>(samples_.step.seconds.size()));
      const std::span<const std::uint64_t> own = marks.subspan(i * row, row);
      if (!std::is_sorted(own.begin(), own.end())) {
        for (StageSamples& stage : samples_.stages) ++stage.left_out;
        ++samples_.step.left_out;
        continue;
      }
      samples_.switches.push_back(switches[i]);
      const auto of_iteration = [&](const std::vector<double>& by_part) {
        const std::span<const double> all(by_part);
        return all.empty() ? all : all.subspan(i * parts.size(), parts.size());
      };
      KeepIteration(own, parts, of_iteration(part_seconds), of_iteration(shares),
                    of_iteration(paces));
    }
    kept_before.push_back(static_cast<std::int64_t>(samples_.step.seconds.size()));
    for (SpanMark& mark : samples_.marks) {
      mark.iteration = kept_before[static_cast<std::size_t>(mark.iteration)];
    }
  }

  void KeepIteration(std::span<const std::uint64_t> marks, const std::vector<std::size_t>& parts,
                     std::span<const double> part_seconds, std::span<const double> shares,
                     std::span<const double> paces) {
    const auto keep = [](double seconds, StageSamples& into) {
      into.seconds.push_back(std::max(0.0, seconds - into.empty_seconds));
    };
    double step = 0;
    double waited = 0;
    std::size_t part = 0;
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      if (s == parts[part]) ++part;
      const std::size_t at = s + part;
      StageSamples& stage = samples_.stages[s];
      keep(clock_.SecondsBetween(marks[at], marks[at + 1]).value_or(0), stage);
      if (!shares.empty()) stage.waited.push_back(shares[part]);
      if (!paces.empty()) stage.pace.push_back(paces[part]);
    }
    for (std::size_t p = 0; p < parts.size(); ++p) {
      step += part_seconds[p];
      if (!shares.empty()) waited += shares[p] * part_seconds[p];
    }
    keep(step, samples_.step);
    if (!shares.empty()) samples_.step.waited.push_back(step > 0 ? waited / step : 0);
    if (!paces.empty()) samples_.step.pace.push_back(*std::min_element(paces.begin(), paces.end()));
  }

  std::span<const TimedStage> stages_;
  const MeasureOptions& options_;
  TickClock clock_;
  IterationBounds bounds_;
  SequenceSamples samples_;
};

// Whether enough samples are undisturbed, and as fast as this machine can be.
bool AreUndisturbed(const StageSamples& of) {
  Speeds cores = of.speeds;
  cores.memory.reset();
  return of.selection.enough && of.selection.by_speed && !of.selection.kept.empty() &&
         JudgeSpeeds(cores, {0, 1}).status == Status::kOk;
}

// The means by time of the stages' speeds. Absent if one stage's is.
Speeds MeanSpeeds(std::span<const StageSamples> stages) {
  double all = 0, arithmetic = 0, memory = 0;
  Speeds mean{.clock_change = {}, .arithmetic = 0, .memory = 0};
  for (const StageSamples& stage : stages) {
    const double seconds = Median(UndisturbedSeconds(stage));
    all += seconds;
    arithmetic += seconds * stage.speeds.arithmetic.value_or(0);
    memory += seconds * stage.speeds.memory.value_or(0);
    if (!stage.speeds.arithmetic) mean.arithmetic.reset();
    if (!stage.speeds.memory) mean.memory.reset();
    mean.by_pace = stage.speeds.by_pace;
  }
  if (!(all > 0)) return {};
  if (mean.arithmetic) mean.arithmetic = arithmetic / all;
  if (mean.memory) mean.memory = memory / all;
  return mean;
}

// See StageSamples::composed.
std::vector<double> ComposedSteps(std::span<const StageSamples> stages) {
  std::size_t least = stages.front().seconds.size();
  for (const StageSamples& stage : stages) {
    least = std::min(least, UndisturbedSeconds(stage).size());
  }
  std::vector<double> steps(least, 0);
  for (const StageSamples& stage : stages) {
    const std::vector<double> seconds = UndisturbedSeconds(stage);
    for (std::size_t i = 0; i < least; ++i) steps[i] += seconds[i * seconds.size() / least];
  }
  return steps;
}

// Uses the stages' undisturbed times for the step, if its own are not, and theirs are faster ones.
void ComposeStep(SequenceSamples& samples) {
  constexpr double kWorthIt = 0.01;  // of the best known speed
  StageSamples& step = samples.step;
  step.composed.clear();
  const bool enough = std::ranges::all_of(samples.stages, [](const StageSamples& stage) {
    return stage.selection.enough && !stage.seconds.empty();
  });
  if (samples.stages.empty() || !enough || AreUndisturbed(step)) return;
  const Speeds mean = MeanSpeeds(samples.stages);
  const double own = step.selection.enough ? step.speeds.arithmetic.value_or(1) : 0;
  if (mean.arithmetic.value_or(1) < own + kWorthIt) return;
  step.composed = ComposedSteps(samples.stages);
  step.speeds = mean;
}

}  // namespace

std::vector<double> UndisturbedSeconds(const StageSamples& samples) {
  if (!samples.composed.empty()) return samples.composed;
  if (samples.selection.kept.empty()) return samples.seconds;
  return ValuesAt(samples.seconds, samples.selection.kept);
}

double FullPace(const SequenceSamples& samples) {
  std::vector<double> paces;
  for (const StageSamples& stage : samples.stages) {
    paces.insert(paces.end(), stage.pace.begin(), stage.pace.end());
  }
  if (paces.empty()) return 0;
  const auto high = paces.end() - 1 - static_cast<std::ptrdiff_t>(paces.size() / 100);
  std::nth_element(paces.begin(), high, paces.end());
  return *high;
}

void SelectSamples(SequenceSamples& samples) {
  const double full_pace = FullPace(samples);
  const auto facts_of = [&](const StageSamples& of) {
    return SampleFacts{.samples = of.seconds.size(),
                       .waited = of.waited,
                       .switches = samples.switches,
                       .pace = of.pace,
                       .full_pace = full_pace,
                       .best_pace = samples.best_speeds.instructions_per_second.value_or(0),
                       .marks = samples.marks};
  };
  const auto select = [&](StageSamples& of) {
    const SampleFacts facts = facts_of(of);
    of.selection = SelectUndisturbed(facts);
    of.speeds = SpeedsOf(of.selection, facts, samples.best_speeds);
  };
  for (StageSamples& stage : samples.stages) select(stage);
  select(samples.step);
  ComposeStep(samples);
  if (!samples.step.composed.empty()) {
    samples.step.selection = SelectBySpeed(facts_of(samples.step));
  }
  samples.disturbance.arithmetic_ratio = samples.step.speeds.arithmetic;
  samples.disturbance.memory_ratio = samples.step.speeds.memory;
  samples.disturbance.by_pace = samples.step.speeds.by_pace;
}

Speeds SpeedsOf(const SequenceSamples& samples, const StageSamples& of) {
  const Speeds around = SpeedsAround(samples.disturbance);
  if (!samples.disturbance.judged) return around;
  Speeds speeds = of.speeds;
  speeds.clock_change = around.clock_change;
  return speeds;
}

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
