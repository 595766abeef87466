#include "harness/counters/event_fold.h"

#include <algorithm>
#include <stdexcept>

namespace topdnn {

namespace {

constexpr EventCount kAbsent = {.value = std::nullopt, .running_fraction = 0.0};

}  // namespace

std::vector<EventCount> FoldCounts(std::span<const std::uint64_t> before,
                                   std::span<const std::uint64_t> after) {
  if (before.size() != after.size()) {
    throw std::invalid_argument("two readings of a counter source differ in length");
  }
  std::vector<EventCount> counts(before.size(), kAbsent);
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (after[i] < before[i]) continue;
    counts[i] = {.value = static_cast<double>(after[i] - before[i]), .running_fraction = 1.0};
  }
  return counts;
}

std::vector<EventCount> FoldGroup(std::span<const std::uint64_t> before,
                                  std::span<const std::uint64_t> after) {
  if (before.size() < 2 || before.size() != after.size()) {
    throw std::invalid_argument("a reading of a group lacks its two times");
  }
  const std::size_t events = before.size() - 2;
  const bool reset = after[events] < before[events] || after[events + 1] < before[events + 1];
  const std::uint64_t enabled = reset ? 0 : after[events] - before[events];
  const std::uint64_t running = reset ? 0 : after[events + 1] - before[events + 1];
  if (enabled == 0 || running == 0) return std::vector<EventCount>(events, kAbsent);
  std::vector<EventCount> counts = FoldCounts(before.first(events), after.first(events));
  // (the two times are read one after the other: running may lead by nanoseconds)
  const double fraction =
      std::min(1.0, static_cast<double>(running) / static_cast<double>(enabled));
  for (EventCount& count : counts) {
    if (count.value) count.running_fraction = fraction;
  }
  return counts;
}

}  // namespace topdnn
