// Reads the machine's accounts and the probes between the iterations of a measurement, as often as
// their cost allows, so that what happens meanwhile belongs to a known part of the samples.

#ifndef TOPDNN_HARNESS_MEASURE_SPAN_MARKER_H_
#define TOPDNN_HARNESS_MEASURE_SPAN_MARKER_H_

#include <cstdint>
#include <vector>

#include "harness/counters/clock.h"
#include "harness/measure/disturbance.h"
#include "harness/measure/measure.h"
#include "harness/measure/undisturbed.h"

namespace topdnn {

class SpanMarker {
 public:
  // `marks` has the mark before the warm-up; `before` are the accounts after the warm-up.
  SpanMarker(const MeasureOptions& options, const TickClock& clock, const KernelAccounts& before,
             double step_seconds, std::vector<SpanMark>& marks);

  // Adds a mark, if it is time for one. `run` runs an iteration that is not timed, after a probe
  // that is not short beside one.
  template <class Run>
  void BetweenIterations(std::int64_t iteration, const Run& run) {
    if (!IsDue(iteration)) return;
    const std::uint64_t begin = clock_.now();
    Add(iteration, true);
    const double read = clock_.SecondsBetween(begin, clock_.now()).value_or(0);
    if (options_.speeds && read > kReadingShare * step_seconds_) run();
    last_ = clock_.now();
    cost_seconds_ = clock_.SecondsBetween(begin, last_).value_or(0);
  }
  void AfterIterations(std::int64_t iteration) { Add(iteration, false); }

 private:
  bool IsDue(std::int64_t iteration) const;
  void Add(std::int64_t iteration, bool brief);

  const MeasureOptions& options_;
  const TickClock& clock_;
  KernelAccounts accounts_;  // at the last mark
  double step_seconds_;
  double cost_seconds_;  // of the last mark
  std::uint64_t last_;   // when it was complete
  std::vector<SpanMark>& marks_;
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_MEASURE_SPAN_MARKER_H_
