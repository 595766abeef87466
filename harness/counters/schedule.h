// Packs events into groups that fit the PMU's counters at once. Several groups mean several passes
// over the iterations, not multiplexing.

#ifndef TOPDNN_HARNESS_COUNTERS_SCHEDULE_H_
#define TOPDNN_HARNESS_COUNTERS_SCHEDULE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace topdnn {

struct SchedulableEvent {
  std::string name;
  std::uint64_t counters = ~std::uint64_t{0};  // bit i: general counter i can count it
  bool fixed = false;                          // has a dedicated counter (cycles, slots, metrics)
  // It takes an even counter and the odd one after it: AMD's events of more than 15 counts per
  // cycle, which the kernel combines with the Merge event (AMD PPR, "Large Increment per Cycle
  // Events").
  bool paired = false;
};

struct CounterPass {
  std::vector<std::size_t> events;  // indices, in the order given
};

struct CounterSchedule {
  std::vector<CounterPass> passes;
  std::vector<std::size_t> impossible;  // no counter is possible beside the common events
};

// Whether the events at the indices `chosen` can all be counted at once with `counters` general
// counters (up to 64): a matching. Fixed events take no general counter, paired ones take two.
bool FitsAtOnce(std::span<const SchedulableEvent> events, std::span<const std::size_t> chosen,
                std::size_t counters);

// Packs in the given order, first fit. `common` events (the cycles or slots that every formula
// divides by) are repeated in every pass, so that ratios are computed within one pass. If they do
// not fit at once, every event is impossible.
CounterSchedule PlanPasses(std::span<const SchedulableEvent> events, std::size_t counters,
                           std::span<const std::size_t> common);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_COUNTERS_SCHEDULE_H_
