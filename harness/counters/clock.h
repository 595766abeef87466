// The clocks that time a stage: the current ticks and the length of a tick.

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

  // Absent if the clock went backwards: the difference would wrap to centuries.
  std::optional<double> SecondsBetween(std::uint64_t from, std::uint64_t to) const {
    if (to < from) return std::nullopt;
    return static_cast<double>(to - from) * seconds_per_tick;
  }
};

// CLOCK_MONOTONIC_RAW: no step and no slewing by NTP, which would stretch a measured second.
TickClock MonotonicRawClock();

// The time stamp counter; absent if there is none, its rate is not invariant, or the kernel does
// not trust it (TscDistrust). A reading waits for the instructions before it and ends before those
// after it start (Intel SDM volume 2, RDTSC; AMD APM volume 3, RDTSC). The first call calibrates
// (TscFrequency).
std::optional<TickClock> TscClock();

// The cheapest clock that can be trusted on this machine: the TSC, otherwise CLOCK_MONOTONIC_RAW.
TickClock BestClock();

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_COUNTERS_CLOCK_H_
