#include "harness/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/statistics/summary.h"

namespace topdnn {

namespace {

// 256 MiB of 8-byte numbers: more is no measurement but a trace.
constexpr std::int64_t kMostNumbers = std::int64_t{1} << 25;

const EventCount kNoCount = {.value = std::nullopt, .running_fraction = 0};

void CheckStages(std::span<const TimedStage> stages) {
  if (stages.empty()) throw MeasureError("there is no stage to measure");
  for (const TimedStage& stage : stages) {
    if (!stage.run) throw MeasureError(fmt::format("stage '{}' has no code to run", stage.name));
  }
}

// What runs between iterations: the hook, the poll for cancellation, the count of iterations.
class Loop {
 public:
  Loop(const MeasureOptions& options, const TickClock& clock, std::string_view phase)
      : options_(options), clock_(clock), phase_(phase), start_(clock.now()) {}

  // Whether another iteration is due; runs the hook if so.
  bool Next(std::int64_t least, std::int64_t most, double most_seconds) {
    const double elapsed = Elapsed();
    if (done_ >= most || (done_ >= least && elapsed >= most_seconds)) return false;
    if (options_.cancel != nullptr && options_.cancel->load(std::memory_order_relaxed)) {
      cancelled_ = true;
      return false;
    }
    Tell(elapsed, least, most, most_seconds);
    if (options_.before_iteration) options_.before_iteration();
    return true;
  }
  void Finished() { ++done_; }

  std::int64_t done() const { return done_; }
  bool cancelled() const { return cancelled_; }
  double Elapsed() const {
    return static_cast<double>(clock_.now() - start_) * clock_.seconds_per_tick;
  }

 private:
  // At most ten times a second, so that short iterations are not paced by a terminal.
  void Tell(double elapsed, std::int64_t least, std::int64_t most, double most_seconds) {
    if (!options_.progress || (done_ > 0 && elapsed - told_ < 0.1)) return;
    told_ = elapsed;
    const double by_count = static_cast<double>(done_) / static_cast<double>(most);
    const double by_time = most_seconds > 0 ? elapsed / most_seconds : 1;
    const double by_least = least > 0 ? static_cast<double>(done_) / static_cast<double>(least) : 1;
    options_.progress(
        {.phase = phase_,
         .done = done_,
         .share = std::clamp(std::max(by_count, std::min(by_time, by_least)), 0.0, 1.0)});
  }

  const MeasureOptions& options_;
  const TickClock& clock_;
  std::string_view phase_;
  std::uint64_t start_;
  std::int64_t done_ = 0;
  double told_ = 0;
  bool cancelled_ = false;
};

// The measured region: one reading before each stage and one after the last.
void RunMarked(std::span<const TimedStage> stages, const TickClock& clock, std::uint64_t* marks) {
  for (const TimedStage& stage : stages) {
    *marks++ = clock.now();
    stage.run();
  }
  *marks = clock.now();
}

// The same without the inner marks.
void RunBare(std::span<const TimedStage> stages, const TickClock& clock, std::uint64_t* marks) {
  marks[0] = clock.now();
  for (const TimedStage& stage : stages) stage.run();
  marks[1] = clock.now();
}

void ReadAll(std::span<CounterSource* const> sources, std::uint64_t* raw) {
  for (CounterSource* source : sources) {
    source->Read(raw);
    raw += source->slots();
  }
}

// The same with a reading of every source at each boundary.
void RunCounted(std::span<const TimedStage> stages, std::span<CounterSource* const> sources,
                std::size_t slots, std::uint64_t* raw) {
  for (const TimedStage& stage : stages) {
    ReadAll(sources, raw);
    raw += slots;
    stage.run();
  }
  ReadAll(sources, raw);
}

std::size_t SlotsOf(std::span<CounterSource* const> sources) {
  std::size_t slots = 0;
  for (const CounterSource* source : sources) slots += source->slots();
  return slots;
}

// What the source says between two readings taken one right after the other: the median of some.
std::vector<double> EmptyCounts(CounterSource& source) {
  constexpr std::size_t kTries = 33;
  const std::size_t slots = source.slots();
  std::vector<std::uint64_t> raw(slots * (kTries + 1), 0);
  for (std::size_t i = 0; i <= kTries; ++i) source.Read(&raw[i * slots]);
  std::vector<std::vector<double>> seen(source.events().size());
  for (std::size_t i = 0; i < kTries; ++i) {
    const auto counts = source.Fold({&raw[i * slots], slots}, {&raw[(i + 1) * slots], slots});
    for (std::size_t e = 0; e < seen.size(); ++e) {
      if (counts[e].value) seen[e].push_back(*counts[e].value);
    }
  }
  std::vector<double> medians;
  medians.reserve(seen.size());
  for (const auto& values : seen) medians.push_back(values.empty() ? 0.0 : Median(values));
  return medians;
}

// Adds `more` to a sum whose fraction is a sum, too.
void AddCount(const EventCount& more, EventCount& sum) {
  if (!more.value) return;
  sum.value = sum.value.value_or(0) + *more.value;
  sum.running_fraction += more.running_fraction;
}

struct Bounds {
  std::int64_t least = 0;
  std::int64_t most = 0;
};

// How many iterations: `numbers` 8-byte numbers are stored for each.
Bounds IterationBounds(const MeasureOptions& options, std::int64_t numbers) {
  const std::int64_t fit = kMostNumbers / numbers;
  Bounds bounds = {options.least_iterations, options.most_iterations};
  if (options.iterations) bounds = {*options.iterations, *options.iterations};
  if (bounds.least < 1 || bounds.most < bounds.least) {
    throw MeasureError("a measurement needs at least one iteration, and no fewer than its least");
  }
  if (bounds.least > fit) {
    throw MeasureError(fmt::format("{} iterations of {} marks exceed 256 MiB; ask for at most {}",
                                   bounds.least, numbers, fit));
  }
  bounds.most = std::min(bounds.most, fit);
  return bounds;
}

class SequenceMeter {
 public:
  SequenceMeter(std::span<const TimedStage> stages, const MeasureOptions& options)
      : stages_(stages),
        options_(options),
        clock_(options.clock ? *options.clock : BestClock()),
        bounds_(IterationBounds(options, static_cast<std::int64_t>(stages.size() + 1))),
        // (written to, so that no page is mapped while measuring)
        marks_(static_cast<std::size_t>(bounds_.most) * (stages.size() + 1), 0) {
    CheckStages(stages);
    samples_.clock = clock_.name;
    samples_.stages.resize(stages.size());
    for (std::size_t i = 0; i < stages.size(); ++i) samples_.stages[i].name = stages[i].name;
    samples_.step.name = "step";
    for (CounterSource* source : options.sources) {
      (source->runs_region() ? runners_ : readers_).push_back(source);
      auto& events = source->runs_region() ? samples_.run_events : samples_.events;
      events.insert(events.end(), source->events().begin(), source->events().end());
    }
    samples_.event_passes.assign(samples_.events.size(), 0);
    samples_.empty_counts.assign(samples_.events.size(), 0);
  }

  SequenceSamples Measure() {
    WarmUp();
    if (!samples_.cancelled) WatchAndTime();
    if (!samples_.cancelled && !readers_.empty()) Count();
    for (CounterSource* source : runners_) {
      if (!samples_.cancelled) CountByRunning(*source);
    }
    return std::move(samples_);
  }

 private:
  void WarmUp() {
    const std::int64_t most = std::max<std::int64_t>(1, options_.most_warmup_iterations);
    std::vector<double> steps;
    steps.reserve(static_cast<std::size_t>(most));
    Loop loop(options_, clock_, "warm-up");
    while (!samples_.warmup.steady && loop.Next(1, most, options_.most_warmup_seconds)) {
      RunMarked(stages_, clock_, marks_.data());
      loop.Finished();
      steps.push_back(Seconds(marks_[0], marks_[stages_.size()]));
      for (std::size_t s = 0; s < stages_.size(); ++s) {
        samples_.stages[s].warmup_seconds.push_back(Seconds(marks_[s], marks_[s + 1]));
      }
      samples_.step.warmup_seconds.push_back(steps.back());
      samples_.warmup.steady = IsSteady(steps, options_.steady);
    }
    samples_.warmup.iterations = steps.size();
    samples_.warmup.seconds = loop.Elapsed();
    samples_.cancelled = loop.cancelled();
  }

  void WatchAndTime() {
    Disturbance& seen = samples_.disturbance;
    if (options_.core_hertz) seen.core_hertz_before = options_.core_hertz();
    if (options_.quiet_ratio) seen.quiet_ratio = options_.quiet_ratio();
    const KernelAccounts before = ReadKernelAccounts();
    Time();
    AddSpent(before, ReadKernelAccounts(), seen);
    if (options_.core_hertz) seen.core_hertz_after = options_.core_hertz();
    if (options_.quiet_ratio) {
      const std::optional<double> again = options_.quiet_ratio();
      if (again) seen.quiet_ratio = std::min(seen.quiet_ratio.value_or(*again), *again);
    }
  }

  void Time() {
    const std::size_t marks = stages_.size() + 1;
    Disturbance& seen = samples_.disturbance;
    const double empty = EmptySeconds();
    samples_.step.empty_seconds = empty * static_cast<double>(stages_.size());
    Loop loop(options_, clock_, "timing");
    std::vector<bool> was_switched;
    was_switched.reserve(static_cast<std::size_t>(bounds_.most));
    while (loop.Next(bounds_.least, bounds_.most, options_.seconds)) {
      const std::int64_t switches = InvoluntarySwitches();
      RunMarked(stages_, clock_, &marks_[static_cast<std::size_t>(loop.done()) * marks]);
      const std::int64_t switched = InvoluntarySwitches() - switches;
      seen.switched_iterations += switched > 0 ? 1 : 0;
      seen.involuntary_switches += switched;
      was_switched.push_back(switched > 0);
      loop.Finished();
    }
    samples_.cancelled = loop.cancelled();
    seen.iterations = loop.done();
    for (StageSamples& stage : samples_.stages) {
      stage.seconds.reserve(static_cast<std::size_t>(loop.done()));
      stage.empty_seconds = empty;
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(loop.done()); ++i) {
      const std::uint64_t* at = &marks_[i * marks];
      for (std::size_t s = 0; s < stages_.size(); ++s) {
        samples_.stages[s].seconds.push_back(std::max(0.0, Seconds(at[s], at[s + 1]) - empty));
      }
      samples_.step.seconds.push_back(
          std::max(0.0, Seconds(at[0], at[stages_.size()]) - samples_.step.empty_seconds));
      seen.seconds += samples_.step.seconds.back();
    }
    std::vector<double> unswitched;
    for (std::size_t i = 0; i < was_switched.size(); ++i) {
      if (!was_switched[i]) unswitched.push_back(samples_.step.seconds[i]);
    }
    if (unswitched.size() >= kLeastUnswitched) {
      seen.switched_excess = Median(samples_.step.seconds) / Median(unswitched) - 1;
    }
  }

  // The sources that are read, in as many passes as the one with the most needs.
  void Count() {
    std::size_t passes = 1;
    for (const CounterSource* source : readers_) passes = std::max(passes, source->passes());
    for (std::size_t pass = 0; pass < passes && !samples_.cancelled; ++pass) {
      std::vector<Reader> active;
      std::size_t event = 0;
      for (CounterSource* source : readers_) {
        if (pass < source->passes()) {
          source->Begin(pass);
          active.push_back({source, event, EmptyCounts(*source)});
        }
        event += source->events().size();
      }
      CountPass(active, pass, passes);
      for (const Reader& reader : active) reader.source->End();
    }
  }

  // A source in the pass that counts now.
  struct Reader {
    CounterSource* source;
    std::size_t first_event;    // in SequenceSamples::events
    std::vector<double> empty;  // per event
  };

  void CountPass(const std::vector<Reader>& active, std::size_t pass, std::size_t passes) {
    std::vector<CounterSource*> sources;
    for (const Reader& reader : active) sources.push_back(reader.source);
    const std::size_t slots = SlotsOf(sources);
    const std::size_t numbers = slots * (stages_.size() + 1);
    if (slots == 0) return;
    std::int64_t most = std::min({options_.most_counted_iterations, samples_.disturbance.iterations,
                                  kMostNumbers / static_cast<std::int64_t>(numbers)});
    if (pass > 0) most = std::min(most, rows_);
    std::vector<std::uint64_t> raw(
        numbers * static_cast<std::size_t>(std::max<std::int64_t>(0, most)), 0);
    Loop loop(options_, clock_, "counting");
    while (loop.Next(1, most, options_.seconds / static_cast<double>(passes))) {
      RunCounted(stages_, sources, slots, &raw[static_cast<std::size_t>(loop.done()) * numbers]);
      loop.Finished();
    }
    samples_.cancelled = loop.cancelled();
    // (when cancelled, what the later passes would have counted stays absent)
    if (pass == 0 || !samples_.cancelled) rows_ = loop.done();
    for (StageSamples& stage : samples_.stages) Resize(stage);
    Resize(samples_.step);
    for (std::size_t i = 0; i < static_cast<std::size_t>(loop.done()); ++i) {
      const std::uint64_t* at = &raw[i * numbers];
      for (std::size_t s = 0; s < stages_.size(); ++s) {
        Fold(active, pass, i, at + s * slots, at + (s + 1) * slots, 1, samples_.stages[s]);
      }
      Fold(active, pass, i, at, at + stages_.size() * slots, static_cast<double>(stages_.size()),
           samples_.step);
    }
    for (StageSamples& stage : samples_.stages) FinishThreads(active, pass, stage);
    FinishThreads(active, pass, samples_.step);
  }

  void Resize(StageSamples& samples) const {
    samples.counts.resize(static_cast<std::size_t>(rows_) * samples_.events.size(),
                          {.value = std::nullopt, .running_fraction = 0});
  }

  // The counts of one region in iteration `row`, less those of the `readings` within it.
  void Fold(const std::vector<Reader>& active, std::size_t pass, std::size_t row,
            const std::uint64_t* before, const std::uint64_t* after, double readings,
            StageSamples& into) {
    for (const Reader& reader : active) {
      const CounterSource& source = *reader.source;
      const std::size_t n = source.slots();
      const auto take = [&](const EventCount& count, std::size_t e, double regions) {
        EventCount own = count;
        if (own.value) own.value = std::max(0.0, *own.value - regions * reader.empty[e]);
        return own;
      };
      const auto counts = source.Fold({before, n}, {after, n});
      const auto threads = source.FoldThreads({before, n}, {after, n});
      while (into.threads.size() < threads.size()) {
        into.threads.push_back({threads[into.threads.size()].thread,
                                std::vector<EventCount>(samples_.events.size(), kNoCount)});
      }
      for (std::size_t e = 0; e < counts.size(); ++e) {
        if (source.pass_of(e) != pass) continue;
        const std::size_t event = reader.first_event + e;
        into.counts[row * samples_.events.size() + event] = take(counts[e], e, readings);
        samples_.empty_counts[event] = reader.empty[e];
        samples_.event_passes[event] = pass;
        // (the readings are the calling thread's work)
        for (std::size_t t = 0; t < threads.size(); ++t) {
          AddCount(take(threads[t].counts[e], e, t == 0 ? readings : 0),
                   into.threads[t].counts[event]);
        }
      }
      before += n;
      after += n;
    }
  }

  // From sums to means.
  void FinishThreads(const std::vector<Reader>& active, std::size_t pass, StageSamples& into) {
    const auto n = static_cast<double>(std::max<std::int64_t>(1, rows_));
    for (const Reader& reader : active) {
      for (std::size_t e = 0; e < reader.source->events().size(); ++e) {
        if (reader.source->pass_of(e) != pass) continue;
        for (ThreadCounts& thread : into.threads) {
          EventCount& count = thread.counts[reader.first_event + e];
          if (count.value) *count.value /= n;
          count.running_fraction /= n;
        }
      }
    }
  }

  void CountByRunning(CounterSource& source) {
    const std::size_t slots = source.slots();
    std::vector<std::uint64_t> raw(slots * (stages_.size() + 1), 0);
    Loop loop(options_, clock_, "counting exactly");
    while (loop.Next(1, 1, options_.seconds)) {
      source.Read(raw.data());
      for (std::size_t s = 0; s < stages_.size(); ++s) {
        source.Run(stages_[s].run.function, stages_[s].run.context);
        source.Read(&raw[(s + 1) * slots]);
      }
      loop.Finished();
    }
    samples_.cancelled = loop.cancelled();
    if (loop.done() == 0) return;
    const auto fold = [&](std::size_t from, std::size_t to, StageSamples& into) {
      for (const EventCount& count :
           source.Fold({&raw[from * slots], slots}, {&raw[to * slots], slots})) {
        into.run_counts.push_back(count);
      }
    };
    for (std::size_t s = 0; s < stages_.size(); ++s) fold(s, s + 1, samples_.stages[s]);
    fold(0, stages_.size(), samples_.step);
  }

  // The median time between two marks with nothing between them.
  double EmptySeconds() const {
    constexpr std::size_t kTries = 257;
    std::vector<std::uint64_t> marks(kTries + 1, 0);
    for (std::uint64_t& mark : marks) mark = clock_.now();
    std::vector<double> seconds;
    for (std::size_t i = 0; i < kTries; ++i) seconds.push_back(Seconds(marks[i], marks[i + 1]));
    return Median(seconds);
  }

  double Seconds(std::uint64_t from, std::uint64_t to) const {
    return static_cast<double>(to - from) * clock_.seconds_per_tick;
  }

  std::span<const TimedStage> stages_;
  const MeasureOptions& options_;
  TickClock clock_;
  Bounds bounds_;
  std::vector<std::uint64_t> marks_;  // (iterations, stages + 1)
  SequenceSamples samples_;
  std::vector<CounterSource*> readers_;
  std::vector<CounterSource*> runners_;
  std::int64_t rows_ = 0;  // counted iterations
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

std::optional<MarkOverhead> MeasureMarkOverhead(std::span<const TimedStage> stages,
                                                const MeasureOptions& options) {
  CheckStages(stages);
  const TickClock clock = options.clock ? *options.clock : BestClock();
  const Bounds pairs = IterationBounds(options, 2);
  std::vector<std::uint64_t> inner(stages.size() + 1, 0);
  std::vector<double> with;
  std::vector<double> without;
  with.reserve(static_cast<std::size_t>(pairs.most));
  without.reserve(static_cast<std::size_t>(pairs.most));
  Loop loop(options, clock, "overhead");
  // Pairs run as marked-bare, bare-marked, ...: a drift then weighs on both alike.
  while (loop.Next(2 * pairs.least, 2 * pairs.most, options.seconds)) {
    const bool marked = (loop.done() % 4 == 0) || (loop.done() % 4 == 3);
    (marked ? RunMarked : RunBare)(stages, clock, inner.data());
    const std::uint64_t last = inner[marked ? stages.size() : 1];
    (marked ? with : without)
        .push_back(static_cast<double>(last - inner[0]) * clock.seconds_per_tick);
    loop.Finished();
  }
  const std::size_t whole = std::min(with.size(), without.size());
  if (whole == 0) return std::nullopt;
  return OverheadOf({with.data(), whole}, {without.data(), whole});
}

MarkOverhead OverheadOf(std::span<const double> with, std::span<const double> without) {
  if (with.empty() || with.size() != without.size()) {
    throw std::invalid_argument("an overhead needs pairs of times");
  }
  std::vector<double> ratios;
  ratios.reserve(with.size());
  for (std::size_t i = 0; i < with.size(); ++i) ratios.push_back(with[i] / without[i] - 1);
  std::sort(ratios.begin(), ratios.end());
  // The median lies between the order statistics n/2 +- 1.96 sqrt(n)/2, a binomial's central 95 %
  // (Conover, Practical Nonparametric Statistics, 3.2).
  const double n = static_cast<double>(ratios.size());
  const double reach = 0.5 * 1.96 / std::sqrt(n);
  return MarkOverhead{.ratio = QuantileOfSorted(ratios, 0.5),
                      .low = QuantileOfSorted(ratios, std::max(0.0, 0.5 - reach)),
                      .high = QuantileOfSorted(ratios, std::min(1.0, 0.5 + reach)),
                      .pairs = static_cast<std::int64_t>(ratios.size())};
}

}  // namespace topdnn
