// The loop of a measurement: how many iterations to run, when to stop, and what runs between two
// iterations; and the measured region itself.

#ifndef TOPDNN_HARNESS_MEASURE_MEASURE_LOOP_H_
#define TOPDNN_HARNESS_MEASURE_MEASURE_LOOP_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "harness/counters/clock.h"
#include "harness/measure/measure.h"

namespace topdnn {

// 256 MiB of 8-byte numbers: a measurement that stores more is refused.
inline constexpr std::int64_t kMaxNumbers = std::int64_t{1} << 25;

// Throws InputError if there is no stage, or one without code.
void CheckStages(std::span<const TimedStage> stages);

struct IterationBounds {
  std::int64_t least = 0;
  std::int64_t most = 0;
};

// The number of iterations that may run if `numbers` 8-byte numbers are stored for each. Throws
// InputError if the options ask for none, or for more than fit.
IterationBounds BoundsOf(const MeasureOptions& options, std::int64_t numbers);

// What runs between iterations: the hook, the poll for cancellation, the count of iterations, the
// progress.
class MeasureLoop {
 public:
  MeasureLoop(const MeasureOptions& options, const TickClock& clock, std::string_view phase)
      : options_(options), clock_(clock), phase_(phase), start_(clock.now()) {}

  // Returns whether to run another iteration; if so, runs the hook.
  bool Next(std::int64_t least, std::int64_t most, double most_seconds);
  void Finished() { ++done_; }

  std::int64_t done() const { return done_; }
  bool cancelled() const { return cancelled_; }
  double Elapsed() const;

 private:
  void ShowProgress(double elapsed, std::int64_t least, std::int64_t most, double most_seconds);

  const MeasureOptions& options_;
  const TickClock& clock_;
  std::string_view phase_;
  std::uint64_t start_;
  std::int64_t done_ = 0;
  double shown_ = 0;  // time of the last progress
  bool cancelled_ = false;
};

// The median time between two readings of the clock with nothing between them.
double EmptySeconds(const TickClock& clock);

// The measured region: one reading of the clock before each stage and one after the last.
inline void RunMarked(std::span<const TimedStage> stages, const TickClock& clock,
                      std::uint64_t* marks) {
  for (const TimedStage& stage : stages) {
    *marks++ = clock.now();
    stage.run();
  }
  *marks = clock.now();
}

// The same without the inner marks.
inline void RunBare(std::span<const TimedStage> stages, const TickClock& clock,
                    std::uint64_t* marks) {
  marks[0] = clock.now();
  for (const TimedStage& stage : stages) stage.run();
  marks[1] = clock.now();
}

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_MEASURE_MEASURE_LOOP_H_
