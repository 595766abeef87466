// What the inner marks cost, or any ratio of paired times.

#ifndef TOPDNN_HARNESS_MARK_OVERHEAD_H_
#define TOPDNN_HARNESS_MARK_OVERHEAD_H_

#include <cstdint>
#include <optional>
#include <span>

#include "harness/statistics/interval.h"

namespace topdnn {

struct MeasureOptions;
struct TimedStage;

struct MarkOverhead {
  double ratio = 0;  // median over the pairs of the step with inner marks over that without, less 1
  // 95 % interval of that median, by order statistics; absent below 6 pairs, where there is none.
  std::optional<Interval> interval;
  std::int64_t pairs = 0;
};

// Runs the sequence with and without the inner marks, pair by pair, the order alternating. Absent
// when cancelled before the first pair was whole. The budget is that of the timed iterations.
std::optional<MarkOverhead> MeasureMarkOverhead(std::span<const TimedStage> stages,
                                                const MeasureOptions& options);

// Pure: the overhead from paired times in seconds. Throws std::invalid_argument when there are
// none, or not as many of one as of the other.
MarkOverhead OverheadOf(std::span<const double> with, std::span<const double> without);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_MARK_OVERHEAD_H_
