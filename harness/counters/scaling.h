// From two readings of a counter to a count: pure, because it can be silently wrong.

#ifndef TOPDNN_HARNESS_COUNTERS_SCALING_H_
#define TOPDNN_HARNESS_COUNTERS_SCALING_H_

#include <cstdint>
#include <optional>

#include "harness/counters/source.h"

namespace topdnn {

// One event as perf_event tells it: the count, and how long it was enabled and on a counter (ns).
struct CounterReading {
  std::uint64_t value = 0;
  std::uint64_t enabled = 0;
  std::uint64_t running = 0;
};

// The count between two readings, unscaled, with its running fraction. Absent when anything went
// backwards (a reset), when it ran for longer than it was enabled, and when it never ran.
EventCount CountBetween(const CounterReading& before, const CounterReading& after);

// Below this running fraction a scaled count is an estimate to be flagged.
inline constexpr double kTrustedRunningFraction = 0.9;

// count / running fraction: what the event would have counted on a counter of its own, if the
// region were uniform. Absent stays absent.
std::optional<double> Scaled(const EventCount& count);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_COUNTERS_SCALING_H_
