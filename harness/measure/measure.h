// Measures a sequence of stages: any code that can be called repeatedly.
//
// In a sequence there is one mark at each boundary between two stages, so n stages cost n + 1
// readings of a clock, and the stages' times sum to the step's time. Times and event counts come
// from separate iterations: reading events is a system call, which would add to the stages' times.
// Between the first and the last mark of an iteration this code does not allocate, lock or throw.

#ifndef TOPDNN_HARNESS_MEASURE_MEASURE_H_
#define TOPDNN_HARNESS_MEASURE_MEASURE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/counters/clock.h"
#include "harness/counters/source.h"
#include "harness/measure/disturbance.h"
#include "harness/statistics/steady.h"

namespace topdnn {

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
  std::string_view phase;  // "warm-up", "timing", "counting", "counting exactly", "overhead"
  std::int64_t done = 0;   // iterations of the phase
  double share = 0;        // done share of the phase, approximate, in [0, 1]
};

struct MeasureOptions {
  // Timed iterations: exactly `iterations`; otherwise as many as fit in `seconds`, within the two
  // bounds.
  std::optional<std::int64_t> iterations;
  double seconds = 1.0;
  std::int64_t least_iterations = 5;
  std::int64_t most_iterations = 1000;
  // Warm-up: until steady, at least one iteration, and no longer than either bound.
  double most_warmup_seconds = 2.0;
  std::int64_t most_warmup_iterations = 2000;
  // ... and at least this long, since clocks rise and pools start at a speed that does not depend
  // on the step.
  double least_warmup_seconds = 0.02;
  SteadyRule steady;
  // Iterations that read the counter sources, after the timed ones; at most as many as those. A
  // source that runs the regions itself counts one additional iteration.
  std::int64_t most_counted_iterations = 50;

  Action before_iteration;                    // not measured: the next batch, a cache flush
  std::optional<TickClock> clock;             // absent: BestClock()
  std::vector<CounterSource*> sources;        // not owned
  const std::atomic<bool>* cancel = nullptr;  // polled between iterations
  std::function<void(const MeasureProgress&)> progress;  // between iterations
  // Called before and after the measurement, outside of it; see Disturbance. The quiet ratio is
  // read before the warm-up, since the reading may empty the caches.
  std::function<std::optional<double>()> core_hertz;
  std::function<std::optional<double>()> quiet_ratio;
};

// The samples of one stage, or of the whole step.
struct StageSamples {
  std::string name;
  std::vector<double> seconds;  // one per timed iteration, in their order
  // One per counted iteration and event, the events within an iteration in the order of
  // SequenceSamples::events.
  std::vector<EventCount> counts;
  // The counts of the sources that run the regions themselves, from one iteration, in the order of
  // SequenceSamples::run_events.
  std::vector<EventCount> run_counts{};
  // The means over the counted iterations by thread, of the sources that count threads separately;
  // counts in the order of SequenceSamples::events, each without the cost of readings on that
  // thread.
  std::vector<ThreadCounts> threads{};
  std::vector<double> warmup_seconds{};  // one per iteration of the warm-up
  // The time of the marks around an empty region. The samples already exclude it.
  double empty_seconds = 0;
  // Timed iterations without times, because the clock went backwards.
  std::int64_t left_out = 0;
  bool scaled = false;  // see ScaleCounts
};

struct SequenceSamples {
  std::vector<StageSamples> stages;
  StageSamples step;
  std::vector<std::string> events;        // of the sources that are read, in their order
  std::vector<std::string> run_events;    // of those that run the regions themselves
  std::vector<std::size_t> event_passes;  // which pass counted each of `events`
  // The counts that a reading itself adds, per event. The counts already exclude them.
  std::vector<double> empty_counts;
  std::string clock;
  Warmup warmup;
  Disturbance disturbance;
  bool cancelled = false;  // the complete iterations until then are kept
};

// Runs the stages in their order, iteration after iteration. Throws InputError if there is no
// stage, if a stage cannot be called, or if the marks of that many iterations would take over 256
// MiB. Exceptions of a stage pass through.
SequenceSamples MeasureSequence(std::span<const TimedStage> stages, const MeasureOptions& options);

// Repeats one stage, so that its data is as hot in the caches as the stage itself leaves it.
// `setup` runs once, unmeasured, and prepares the stage's operands.
SequenceSamples MeasureIsolatedHot(const TimedStage& stage, Action setup,
                                   const MeasureOptions& options);
// The same with an untimed `flush` before each repetition, which replaces before_iteration.
SequenceSamples MeasureIsolatedCold(const TimedStage& stage, Action setup, Action flush,
                                    const MeasureOptions& options);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_MEASURE_MEASURE_H_
