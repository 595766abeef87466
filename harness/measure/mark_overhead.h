// The cost of the inner marks, or any ratio of paired times.

#ifndef TOPDNN_HARNESS_MEASURE_MARK_OVERHEAD_H_
#define TOPDNN_HARNESS_MEASURE_MARK_OVERHEAD_H_

#include <cstdint>
#include <optional>
#include <span>

#include "harness/statistics/interval.h"

namespace topdnn {

struct MeasureOptions;
struct TimedStage;

struct MarkOverhead {
  double ratio = 0;  // median over the pairs of (step with inner marks / step without) - 1
  // 95 % interval of that median, by order statistics; absent below 6 pairs, for which none exists.
  std::optional<Interval> interval;
  std::int64_t pairs = 0;
};

// Runs the sequence with and without the inner marks, in pairs of alternating order. Absent if
// cancelled before the first pair is complete. The budget is that of the timed iterations.
std::optional<MarkOverhead> MeasureMarkOverhead(std::span<const TimedStage> stages,
                                                const MeasureOptions& options);

// Pure: the overhead from paired times in seconds. Throws std::invalid_argument if there are none
// or the lengths differ.
MarkOverhead OverheadOf(std::span<const double> with, std::span<const double> without);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_MEASURE_MARK_OVERHEAD_H_
