// The arithmetic between two readings of cumulative counters. Apart from the system calls, because
// it can be silently wrong: a counter that was reset, or that another event displaced for a while,
// must not turn into a small or huge count.

#ifndef TOPDNN_HARNESS_COUNTERS_EVENT_FOLD_H_
#define TOPDNN_HARNESS_COUNTERS_EVENT_FOLD_H_

#include <cstdint>
#include <span>
#include <vector>

#include "harness/counters/source.h"

namespace topdnn {

// One count per slot of counters that are never multiplexed. A counter that went backwards (it was
// reset, or its thread ended) gives an absent count with running fraction 0. Throws
// std::invalid_argument when the two readings differ in length.
std::vector<EventCount> FoldCounts(std::span<const std::uint64_t> before,
                                   std::span<const std::uint64_t> after);

// The same for a perf_event group, read as the counts and then the time the group was enabled and
// the time it was on the counters, in nanoseconds (perf_event_open(2), PERF_FORMAT_GROUP). A group
// never on the counters gives absent counts with running fraction 0; one enabled for no time at
// all, too. Counts are not scaled. Throws std::invalid_argument for fewer than two slots.
std::vector<EventCount> FoldGroup(std::span<const std::uint64_t> before,
                                  std::span<const std::uint64_t> after);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_COUNTERS_EVENT_FOLD_H_
