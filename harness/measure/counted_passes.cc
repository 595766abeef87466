#include "harness/measure/counted_passes.h"

#include <algorithm>
#include <vector>

#include "harness/measure/measure_loop.h"

namespace topdnn {

namespace {

void ReadAll(std::span<CounterSource* const> sources, std::uint64_t* raw) {
  for (CounterSource* source : sources) {
    source->Read(raw);
    raw += source->slots();
  }
}

// Runs the stages, with a reading of every source before each stage and after the last.
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

// The counts that the reading of a source itself adds, per event: for all threads together, and for
// each thread.
struct ReadingCosts {
  std::vector<double> all;
  std::vector<std::vector<double>> threads;
};

// From readings taken one right after the other.
ReadingCosts CostsOf(CounterSource& source) {
  constexpr std::size_t kPairs = 33;
  const std::size_t slots = source.slots();
  std::vector<std::uint64_t> raw(slots * (kPairs + 1), 0);
  for (std::size_t i = 0; i <= kPairs; ++i) source.Read(&raw[i * slots]);
  std::vector<std::vector<EventCount>> all;
  std::vector<std::vector<std::vector<EventCount>>> threads;  // (thread, pair)
  for (std::size_t i = 0; i < kPairs; ++i) {
    const std::span<const std::uint64_t> before(&raw[i * slots], slots);
    const std::span<const std::uint64_t> after(&raw[(i + 1) * slots], slots);
    all.push_back(source.Fold(before, after));
    const auto by_thread = source.FoldThreads(before, after);
    threads.resize(std::max(threads.size(), by_thread.size()));
    for (std::size_t t = 0; t < by_thread.size(); ++t) threads[t].push_back(by_thread[t].counts);
  }
  ReadingCosts costs{.all = CostOfReading(all), .threads = {}};
  for (const auto& pairs : threads) costs.threads.push_back(CostOfReading(pairs));
  return costs;
}

// A source in the current pass.
struct Reader {
  CounterSource* source;
  std::size_t first_event;  // in SequenceSamples::events
  ReadingCosts costs;
};

class PassCounter {
 public:
  PassCounter(std::span<const TimedStage> stages, const MeasureOptions& options,
              const TickClock& clock, SequenceSamples& samples)
      : stages_(stages), options_(options), clock_(clock), samples_(samples) {
    for (CounterSource* source : options.sources) {
      if (!source->runs_region()) sources_.push_back(source);
    }
  }

  void Count() {
    if (sources_.empty()) return;
    std::size_t passes = 1;
    for (const CounterSource* source : sources_) passes = std::max(passes, source->passes());
    for (std::size_t pass = 0; pass < passes && !samples_.cancelled; ++pass) {
      std::vector<Reader> active;
      std::size_t event = 0;
      for (CounterSource* source : sources_) {
        if (pass < source->passes()) {
          source->Begin(pass);
          active.push_back({source, event, CostsOf(*source)});
        }
        event += source->events().size();
      }
      CountPass(active, pass, passes);
      for (const Reader& reader : active) reader.source->End();
    }
  }

 private:
  void CountPass(const std::vector<Reader>& active, std::size_t pass, std::size_t passes) {
    std::vector<CounterSource*> sources;
    sources.reserve(active.size());
    for (const Reader& reader : active) sources.push_back(reader.source);
    const std::size_t slots = SlotsOf(sources);
    const std::size_t numbers = slots * (stages_.size() + 1);
    if (slots == 0) return;
    std::int64_t most = std::min({options_.most_counted_iterations, samples_.disturbance.iterations,
                                  kMaxNumbers / static_cast<std::int64_t>(numbers)});
    if (pass > 0) most = std::min(most, rows_);
    std::vector<std::uint64_t> raw(
        numbers * static_cast<std::size_t>(std::max<std::int64_t>(0, most)), 0);
    MeasureLoop loop(options_, clock_, "counting");
    while (loop.Next(1, most, options_.seconds / static_cast<double>(passes))) {
      RunCounted(stages_, sources, slots, &raw[static_cast<std::size_t>(loop.done()) * numbers]);
      loop.Finished();
    }
    samples_.cancelled = loop.cancelled();
    // If a later pass is cancelled, the counts of its missing iterations stay absent.
    if (pass == 0 || !samples_.cancelled) rows_ = loop.done();
    for (StageSamples& stage : samples_.stages) Resize(stage);
    Resize(samples_.step);
    for (std::size_t i = 0; i < static_cast<std::size_t>(loop.done()); ++i) {
      const std::uint64_t* at = &raw[i * numbers];
      for (std::size_t s = 0; s < stages_.size(); ++s) {
        AddCounts(active, pass, i, at + s * slots, at + (s + 1) * slots, 1, samples_.stages[s]);
      }
      AddCounts(active, pass, i, at, at + stages_.size() * slots,
                static_cast<double>(stages_.size()), samples_.step);
    }
    for (StageSamples& stage : samples_.stages) FinishThreads(active, pass, stage);
    FinishThreads(active, pass, samples_.step);
  }

  void Resize(StageSamples& samples) const {
    samples.counts.resize(static_cast<std::size_t>(rows_) * samples_.events.size(), AbsentCount());
  }

  // Stores the counts of one region in iteration `row`, and adds them to the sums of the threads:
  // both without those of its `readings` readings.
  void AddCounts(const std::vector<Reader>& active, std::size_t pass, std::size_t row,
                 const std::uint64_t* before, const std::uint64_t* after, double readings,
                 StageSamples& into) {
    for (const Reader& reader : active) {
      const CounterSource& source = *reader.source;
      const std::size_t n = source.slots();
      const auto counts = source.Fold({before, n}, {after, n});
      const auto threads = source.FoldThreads({before, n}, {after, n});
      while (into.threads.size() < threads.size()) {
        into.threads.push_back({threads[into.threads.size()].thread,
                                std::vector<EventCount>(samples_.events.size(), AbsentCount())});
      }
      for (std::size_t e = 0; e < counts.size(); ++e) {
        if (source.pass_of(e) != pass) continue;
        const std::size_t event = reader.first_event + e;
        const double cost = reader.costs.all[e];
        into.counts[row * samples_.events.size() + event] =
            WithoutReadings(counts[e], cost, readings);
        samples_.empty_counts[event] = cost;
        samples_.event_passes[event] = pass;
        for (std::size_t t = 0; t < threads.size(); ++t) {
          AddCount(WithoutReadings(threads[t].counts[e], reader.costs.threads[t][e], readings),
                   into.threads[t].counts[event]);
        }
      }
      before += n;
      after += n;
    }
  }

  // Converts sums over the iterations to means.
  void FinishThreads(const std::vector<Reader>& active, std::size_t pass,
                     StageSamples& into) const {
    for (const Reader& reader : active) {
      for (std::size_t e = 0; e < reader.source->events().size(); ++e) {
        if (reader.source->pass_of(e) != pass) continue;
        for (ThreadCounts& thread : into.threads) {
          EventCount& count = thread.counts[reader.first_event + e];
          count = MeanOfSum(count, rows_);
        }
      }
    }
  }

  std::span<const TimedStage> stages_;
  const MeasureOptions& options_;
  const TickClock& clock_;
  SequenceSamples& samples_;
  std::vector<CounterSource*> sources_;
  std::int64_t rows_ = 0;  // counted iterations
};

// One iteration, each stage run by the source.
void CountByRunning(std::span<const TimedStage> stages, const MeasureOptions& options,
                    const TickClock& clock, CounterSource& source, SequenceSamples& samples) {
  const std::size_t slots = source.slots();
  std::vector<std::uint64_t> raw(slots * (stages.size() + 1), 0);
  MeasureLoop loop(options, clock, "counting exactly");
  while (loop.Next(1, 1, options.seconds)) {
    source.Read(raw.data());
    for (std::size_t s = 0; s < stages.size(); ++s) {
      source.Run(stages[s].run.function, stages[s].run.context);
      source.Read(&raw[(s + 1) * slots]);
    }
    loop.Finished();
  }
  samples.cancelled = loop.cancelled();
  if (loop.done() == 0) return;
  const auto fold = [&](std::size_t from, std::size_t to, StageSamples& into) {
    for (const EventCount& count :
         source.Fold({&raw[from * slots], slots}, {&raw[to * slots], slots})) {
      into.run_counts.push_back(count);
    }
  };
  for (std::size_t s = 0; s < stages.size(); ++s) fold(s, s + 1, samples.stages[s]);
  fold(0, stages.size(), samples.step);
}

}  // namespace

void ListEvents(const MeasureOptions& options, SequenceSamples& samples) {
  for (const CounterSource* source : options.sources) {
    auto& events = source->runs_region() ? samples.run_events : samples.events;
    events.insert(events.end(), source->events().begin(), source->events().end());
  }
  samples.event_passes.assign(samples.events.size(), 0);
  samples.empty_counts.assign(samples.events.size(), 0);
}

void CountSequence(std::span<const TimedStage> stages, const MeasureOptions& options,
                   const TickClock& clock, SequenceSamples& samples) {
  if (!samples.cancelled) PassCounter(stages, options, clock, samples).Count();
  for (CounterSource* source : options.sources) {
    if (source->runs_region() && !samples.cancelled) {
      CountByRunning(stages, options, clock, *source, samples);
    }
  }
}

}  // namespace topdnn
