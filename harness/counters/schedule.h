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
  // Takes an even counter and the odd one after it: AMD's events of more than 15 counts per cycle,
  // which the kernel combines with the Merge event (AMD PPR, "Large Increment per Cycle Events").
  bool paired = false;
};

struct CounterPass {
  std::vector<std::size_t> events;  // indices, in the order given
};

struct CounterSchedule {
  std::vector<CounterPass> passes;
  std::vector<std::size_t> impossible;  // not countable by any counter of this PMU
};

// Whether each of `events` can have its own general counter among `counters` (up to 64): a
// matching.
bool FitsAtOnce(std::span<const SchedulableEvent> events, std::span<const std::size_t> chosen,
                std::size_t counters);

// Packs in the given order, first fit. `common` events (the cycles or slots that every formula
// divides by) are repeated in every pass, so that ratios are computed within one pass.
CounterSchedule PlanPasses(std::span<const SchedulableEvent> events, std::size_t counters,
                           std::span<const std::size_t> common);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_COUNTERS_SCHEDULE_H_
