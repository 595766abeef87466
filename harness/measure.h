// Measures a sequence of stages: any code that can be called again and again.
//
// In sequence, one mark lies at each boundary between two stages, so n stages cost n + 1 readings
// of a clock and their times sum to the step's. Times and event counts come from separate
// iterations: a reading of events is a system call, which would sit in the stages' times. Between
// the first and the last mark of an iteration nothing is allocated, locked or thrown here.

#ifndef TOPDNN_HARNESS_MEASURE_H_
#define TOPDNN_HARNESS_MEASURE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "harness/counters/clock.h"
#include "harness/counters/source.h"
#include "harness/disturbance.h"
#include "harness/statistics/steady.h"

namespace topdnn {

// A sequence or options that cannot be measured: one line.
class MeasureError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A call without std::function's indirections in the measured path. The context must outlive it.
struct Action {
  void (*function)(void* context) = nullptr;
  void* context = nullptr;

  explicit operator bool() const { return function != nullptr; }
  void operator()() const { function(context); }

  // Calls `callable()`, which must outlive the action.
  template <class Callable>
  static Action Of(Callable& callable) {
    return {[](void* object) { (*static_cast<Callable*>(object))(); }, &callable};
  }
};

struct TimedStage {
  std::string name;
  Action run;
};

struct MeasureProgress {
  std::string_view phase;  // "warm-up", "timing", "counting", "overhead"
  std::int64_t done = 0;   // iterations of the phase
  double share = 0;        // of the phase, about; in [0, 1]
};

struct MeasureOptions {
  // Timed iterations: exactly `iterations`; else as many as fit `seconds`, within the two bounds.
  std::optional<std::int64_t> iterations;
  double seconds = 1.0;
  std::int64_t least_iterations = 5;
  std::int64_t most_iterations = 1000;
  // Warm-up: until steady, at least one iteration, and no longer than either bound.
  double most_warmup_seconds = 2.0;
  std::int64_t most_warmup_iterations = 2000;
  // ... and no less than this, for clocks that rise and pools that start, whatever a step takes.
  double least_warmup_seconds = 0.02;
  SteadyRule steady;
  // Iterations that read the counter sources, after the timed ones; no more than those. A source
  // that runs the regions itself counts one iteration more, by itself.
  std::int64_t most_counted_iterations = 50;

  Action before_iteration;                    // not measured: the next batch, a cache flush
  std::optional<TickClock> clock;             // absent: BestClock()
  std::vector<CounterSource*> sources;        // not owned
  const std::atomic<bool>* cancel = nullptr;  // polled between iterations
  std::function<void(const MeasureProgress&)> progress;  // between iterations
  // Called before and after the measurement, outside of it; see Disturbance. The quiet ratio is
  // read before the warm-up, since reading it may empty the caches.
  std::function<std::optional<double>()> core_hertz;
  std::function<std::optional<double>()> quiet_ratio;
};

// What one stage, or the whole step, gave.
struct StageSamples {
  std::string name;
  std::vector<double> seconds;  // one per timed iteration, in their order
  // One per counted iteration and event, the events within an iteration in the order of
  // SequenceSamples::events.
  std::vector<EventCount> counts;
  // Of the sources that run the regions themselves, from one iteration; in the order of
  // SequenceSamples::run_events.
  std::vector<EventCount> run_counts{};
  // The means over the counted iterations by thread, of the sources that count threads apart;
  // counts in the order of SequenceSamples::events, each without the cost of readings on its own
  // thread.
  std::vector<ThreadCounts> threads{};
  std::vector<double> warmup_seconds{};  // one per iteration of the warm-up
  // What the marks of an empty region take, which the samples are already without.
  double empty_seconds = 0;
  // Timed iterations in which the clock went backwards, so that they have no times.
  std::int64_t left_out = 0;
  bool scaled = false;  // see ScaleCounts
};

struct SequenceSamples {
  std::vector<StageSamples> stages;
  StageSamples step;
  std::vector<std::string> events;        // of the sources that are read, in their order
  std::vector<std::string> run_events;    // of those that run the regions themselves
  std::vector<std::size_t> event_passes;  // which pass counted each of `events`
  // What a reading counts of itself, per event, which the counts are already without.
  std::vector<double> empty_counts;
  std::string clock;
  Warmup warmup;
  Disturbance disturbance;
  bool cancelled = false;  // the whole iterations until then are kept
};

// Runs the stages in their order, iteration after iteration. Throws MeasureError when there is no
// stage, a stage cannot be called, or the marks of that many iterations would take over 256 MiB.
// What a stage throws passes through.
SequenceSamples MeasureSequence(std::span<const TimedStage> stages, const MeasureOptions& options);

// One stage repeated at its place, its data as hot in the caches as it leaves them. `setup` brings
// the surroundings to where the stage runs, once, unmeasured.
SequenceSamples MeasureIsolatedHot(const TimedStage& stage, Action setup,
                                   const MeasureOptions& options);
// The same with `flush` before each repetition, not timed. It takes the place of before_iteration.
SequenceSamples MeasureIsolatedCold(const TimedStage& stage, Action setup, Action flush,
                                    const MeasureOptions& options);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_MEASURE_H_
