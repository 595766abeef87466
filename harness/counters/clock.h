// The clocks that time a stage: ticks now, and what a tick is worth.

#ifndef TOPDNN_HARNESS_COUNTERS_CLOCK_H_
#define TOPDNN_HARNESS_COUNTERS_CLOCK_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace topdnn {

struct TickClock {
  std::string_view name;
  std::uint64_t (*now)() noexcept = nullptr;
  double seconds_per_tick = 0;

  // Absent when the clock went backwards: the difference would wrap to centuries.
  std::optional<double> SecondsBetween(std::uint64_t from, std::uint64_t to) const {
    if (to < from) return std::nullopt;
    return static_cast<double>(to - from) * seconds_per_tick;
  }
};

// CLOCK_MONOTONIC_RAW: no step and no slewing by NTP, which would stretch a measured second.
TickClock MonotonicRawClock();

// The time stamp counter; absent where there is none, its rate is not invariant, or the kernel
// distrusts it (TscDistrust). A reading waits for the instructions before it and is done before
// those after it start (Intel SDM volume 2, RDTSC; AMD APM volume 3, RDTSC). The first call
// calibrates (TscFrequency).
std::optional<TickClock> TscClock();

// The cheapest clock that can be trusted here: TSC, else CLOCK_MONOTONIC_RAW.
TickClock BestClock();

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_COUNTERS_CLOCK_H_
