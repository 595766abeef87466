#include "harness/counters/scaling.h"

namespace topdnn {

EventCount CountBetween(const CounterReading& before, const CounterReading& after) {
  const EventCount absent{.value = std::nullopt, .running_fraction = 0};
  if (after.value < before.value || after.enabled < before.enabled ||
      after.running < before.running) {
    return absent;
  }
  const std::uint64_t enabled = after.enabled - before.enabled;
  const std::uint64_t running = after.running - before.running;
  if (running == 0 || running > enabled) return absent;
  return {.value = static_cast<double>(after.value - before.value),
          .running_fraction = static_cast<double>(running) / static_cast<double>(enabled)};
}

std::optional<double> Scaled(const EventCount& count) {
  if (!count.value || count.running_fraction <= 0) return std::nullopt;
  return *count.value / count.running_fraction;
}

}  // namespace topdnn
