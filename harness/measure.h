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
#include "harness/record.h"
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
  std::int64_t most_warmup_iterations = 500;
  SteadyRule steady;
  // Iterations that read the counter sources, after the timed ones; no more than those. A source
  // that runs the regions itself counts one iteration more, by itself.
  std::int64_t most_counted_iterations = 50;

  Action before_iteration;                    // not measured: the next batch, a cache flush
  std::optional<TickClock> clock;             // absent: BestClock()
  std::vector<CounterSource*> sources;        // not owned
  const std::atomic<bool>* cancel = nullptr;  // polled between iterations
  std::function<void(const MeasureProgress&)> progress;  // between iterations
  // Called before and after the measurement, outside of it; see Disturbance.
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
  // The means over the counted iterations by thread, of the sources that tell threads apart; counts
  // in the order of SequenceSamples::events.
  std::vector<ThreadCounts> threads{};
  std::vector<double> warmup_seconds{};  // one per iteration of the warm-up
  // What the marks of an empty region take, which the samples are already without.
  double empty_seconds = 0;
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

// What the inner marks cost.
struct MarkOverhead {
  double ratio = 0;  // median over the pairs of the step with inner marks over that without, less 1
  double low = 0;    // 95 % interval of that median, by order statistics
  double high = 0;
  std::int64_t pairs = 0;
};

// Runs the sequence with and without the inner marks, pair by pair, the order alternating. Absent
// when cancelled before the first pair was whole. The budget is that of the timed iterations.
std::optional<MarkOverhead> MeasureMarkOverhead(std::span<const TimedStage> stages,
                                                const MeasureOptions& options);

// Pure: the overhead from paired times in seconds. Throws std::invalid_argument when they are none
// or not of one length.
MarkOverhead OverheadOf(std::span<const double> with, std::span<const double> without);

// A stage shorter than this many empty regions is flagged: a tenth of it was the marks' own time.
inline constexpr double kLeastEmptyRegions = 10;

// Pure: an event's mean per iteration. Counts are of the share of the time during which the event
// was on a counter; so are the mean and its fraction, with an iteration that was not counted
// standing for fraction 0. Absent when no iteration was counted.
EventCount MeanCount(std::span<const EventCount> per_iteration);

// Takes each count to what it would be had its event been on a counter all the time, as if the
// region were uniform: an estimate, for those who ask for it. The fractions stay. (The cycles on
// another core type were counted in full.)
void ScaleCounts(const std::vector<std::string>& events, StageSamples& samples);

// The record of a stage or of the step: name, regime, status, seconds, events, running fraction.
// DEGRADED, besides for the verdict, when the region is too short for the marks, or an event was on
// a counter for too small a share of the time. Without samples it is SKIPPED.
Record RecordOf(const StageSamples& samples, const std::vector<std::string>& events,
                const Verdict& verdict, std::string_view regime);
// Adds what the sources that run the regions themselves counted: their events, the FLOPs counted,
// and why some of it is absent or taken otherwise.
void AddRunCounts(const StageSamples& samples, const std::vector<std::string>& run_events,
                  Record& record);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_MEASURE_H_
