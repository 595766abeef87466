// The share of a region's time that it waits for memory, from times on its own pages and on
// footprints (remapped_memory.h). Pure.
//
// A region that waits for nothing beyond L2 takes as long on a footprint of L2's size as on its own
// pages. Otherwise the time that it saves there is the time of its stalls on memory: Yasin's
// Memory_Bound without the stalls on L1 and L2.

#ifndef TOPDNN_HARNESS_EXPERIMENTS_MEMORY_TIMES_H_
#define TOPDNN_HARNESS_EXPERIMENTS_MEMORY_TIMES_H_

#include <optional>
#include <span>
#include <vector>

#include "harness/bounds/topdown_bounds.h"
#include "harness/statistics/interval.h"

namespace topdnn {

// The times of a region in one round of the experiment, in seconds.
struct MemoryRound {
  double in_network = 0;  // at its place in the sequence, on its own pages
  // Repeated at once, on its own pages. Absent for long stages in a network, to save time.
  std::optional<double> hot{};
  double second_level = 0;  // repeated, on a footprint of L2's size
  // Repeated, on a footprint of a part of the last cache. Absent in some rounds, to save time.
  std::optional<double> last_level{};
  // The largest share of one of these times that other work took (LossWatch).
  double waited = 0;
};

// The rounds that other work did not disturb, or else the least disturbed ones (undisturbed.h).
std::vector<MemoryRound> UndisturbedRounds(std::span<const MemoryRound> rounds);

// 95 % intervals of shares of a time, in [0, 1].
struct MemoryShares {
  Interval memory;                     // waits for anything beyond L2
  std::optional<Interval> last_level;  // ... for the last cache
  std::optional<Interval> dram;        // ... for DRAM
};

// The error of the method: for regions whose data fits L2, it gives -1.2 to +2.3 %
// (docs/memory-experiment.md). Both ends of every interval are moved outward by this.
inline constexpr double kMemoryShareError = 0.025;

enum class MemoryRegime { kInNetwork, kHot };

// Causes other than the pages that make the times of a stage differ, as upper limits.
struct MemoryDoubt {
  // In the sequence, a stage's code and branch predictors are cold. In repetitions they are warm.
  // Absent if the size of the code is not known: then the lower end uses only the repetitions on
  // its own pages, and is 0 without them.
  std::optional<double> cold_code_seconds;
  // The time to move the bytes that the stage uses and that were not remapped.
  double kept_seconds = 0;
};

// At most the time to fetch code of this size from memory, line by line, and to start a team.
double ColdCodeSeconds(double code_bytes, double hertz);

// The shares of the time in one regime. Absent below 6 rounds, where a median has no interval, or
// if a time is not above 0. Both parts are absent below 6 rounds with a last level.
std::optional<MemoryShares> SharesOf(std::span<const MemoryRound> rounds, MemoryRegime regime,
                                     const MemoryDoubt& doubt);

// The whole split: Memory_Bound by experiment, and Retiring and Core_Bound by the bounds in
// `counted` (from exact counts), each narrowed by what the others leave. "Rest" is front end, bad
// speculation and what is not assigned. The basis of every node but Rest begins with its kind:
// "experiment", "bound". Without `counted` there are only Memory_Bound, its parts, and Rest.
TopdownBounds SplitOf(const MemoryShares& shares, const TopdownBounds* counted);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_EXPERIMENTS_MEMORY_TIMES_H_
