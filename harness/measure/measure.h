// Measures a sequence of stages: any code that can be called repeatedly.
//
// In a sequence there is one mark at each boundary between two stages, so n stages cost n + 1
// readings of a clock, and the stages' times sum to the step's time. Where the scheduler's accounts
// are read between two stages there are two marks, and the reading belongs to neither stage. Times
// and event counts come from separate iterations: reading events is a system call, which would add
// to the stages' times. Between the first and the last mark of an iteration this code does not
// allocate, lock or throw.

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
#include "harness/measure/undisturbed.h"
#include "harness/probes/quiet.h"
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
  std::string kernel = {};  // what identifies the kernel that runs; empty: nothing does
};

struct MeasureProgress {
  std::string_view phase;  // "warm-up", "timing", "counting", "counting exactly", "overhead"
  std::int64_t done = 0;   // iterations of the phase
  double share = 0;        // done share of the phase, approximate, in [0, 1]
};

// Reads the time that the process's threads have waited for a CPU so far (SchedulerWatch).
struct WaitingReader {
  std::function<std::uint64_t()> nanoseconds;
  double cost_seconds = 0;  // of a reading
};

// Reads how fast the cores issue instructions now (CorePace), in instructions per second.
struct PaceReader {
  std::function<double()> instructions_per_second;
  double cost_seconds = 0;  // of a reading
};

struct MeasureOptions {
  // Timed iterations: exactly `iterations`; otherwise as many as fit in `seconds`, within the two
  // bounds. If too few of them are undisturbed (AreEnough), up to kPatience times as many.
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
  // At most this many seconds of timed iterations, even if they are fewer than least_iterations
  // (but at least one): on a busy machine an iteration may take many times as long. Long iterations
  // have at least twice the time that least_iterations took in the warm-up.
  double budget_seconds = 60;
  // Called before and after the timed iterations, outside of them; see Disturbance.
  std::function<std::optional<double>()> core_hertz;
  // Reads the probes: before the warm-up, after the timed iterations, and between them at moments
  // that cost at most kMarkShare of the time, then briefly. A reading empties the caches, so an
  // iteration follows that is not timed, unless the reading is short beside it.
  std::function<QuietReading(bool brief)> speeds;
  QuietReading best_speeds;              // the best known readings of this machine
  std::optional<WaitingReader> waiting;  // absent: of all threads; for tests
  std::optional<PaceReader> pace;        // absent: it is not read
};

inline constexpr double kPatience = 4;
// The share of the time for the marks between iterations (SpanMark), and for the readings of the
// scheduler's accounts and of the pace.
inline constexpr double kMarkShare = 0.015;
inline constexpr double kReadingShare = 0.01;

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
  // By sample, the sum over the threads of the time that they waited for a CPU, as a share of the
  // sample's time. If a reading would cost over kReadingShare of a sample, it is for several
  // together: neighbouring stages or iterations. Empty: not known.
  std::vector<double> waited{};
  // By sample, the pace of the cores at its begin or its end, whichever is slower, in instructions
  // per second; read together with the waiting. Empty: not known.
  std::vector<double> pace{};
  // Of `seconds`, by SelectSamples: which are undisturbed, and the speeds around those.
  Selection selection{};
  Speeds speeds{};
  // Of the step, if too few whole iterations are undisturbed, and the stages' undisturbed samples
  // are faster: sums of those, each of the same part of the run. They take the place of `seconds`.
  std::vector<double> composed{};
};

// The times of the undisturbed samples, or the composed ones; all of them before SelectSamples.
std::vector<double> UndisturbedSeconds(const StageSamples& samples);

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
  std::vector<std::int64_t> switches{};  // involuntary, by sample of the step
  std::vector<SpanMark> marks{};         // between the samples
  QuietReading best_speeds{};            // the best known before
  bool cancelled = false;                // the complete iterations until then are kept
  std::string cut_short{};               // which phase its budget of time ended, and how; or empty
};

// Selects the undisturbed samples of each stage and of the step, and adds what the probes around
// those of the step say to the disturbance. Pure.
void SelectSamples(SequenceSamples& samples);

// The pace that one of a hundred readings of the cores' pace reaches; 0 if it was not read. A core
// cannot issue faster than at its full clock, so unlike the rates of longer probes, the highest
// readings do not scatter. Pure.
double FullPace(const SequenceSamples& samples);

// The speeds around the undisturbed samples of a stage or of the step. Pure.
Speeds SpeedsOf(const SequenceSamples& samples, const StageSamples& of);

// Runs the stages in their order, iteration after iteration. In iterations of at least
// kSliceSeconds, the time of waiting is read between stages, too. Throws InputError if there is
// no stage, if a stage cannot be called, or if the marks of that many iterations would take over
// 256 MiB. Exceptions of a stage pass through.
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
