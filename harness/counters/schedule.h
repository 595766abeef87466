// Which events count together: packs them into groups that fit the PMU's counters at once. More
// than one group means as many passes over the iterations, not multiplexing.

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
  bool fixed = false;                          // has a counter of its own (cycles, slots, metrics)
  // Takes an even counter and the odd one after it: AMD's events of more than 15 counts a cycle,
  // which the kernel joins with the Merge event (AMD PPR, "Large Increment per Cycle Events").
  bool paired = false;
};

struct CounterPass {
  std::vector<std::size_t> events;  // indices, in the order given
};

struct CounterSchedule {
  std::vector<CounterPass> passes;
  std::vector<std::size_t> impossible;  // no counter of this PMU can count them
};

// Whether all of `events` find a general counter each, of `counters` (up to 64): a matching.
bool FitsAtOnce(std::span<const SchedulableEvent> events, std::span<const std::size_t> chosen,
                std::size_t counters);

// Packs in the order given, first fit. `common` events (the cycles or slots that every formula
// divides by) are repeated in every pass, so that ratios are taken within one.
CounterSchedule PlanPasses(std::span<const SchedulableEvent> events, std::size_t counters,
                           std::span<const std::size_t> common);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_COUNTERS_SCHEDULE_H_
