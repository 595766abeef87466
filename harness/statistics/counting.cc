#include "harness/statistics/counting.h"

#include <algorithm>
#include <stdexcept>

#include "harness/statistics/summary.h"

namespace topdnn {

EventCount AbsentCount() { return {.value = std::nullopt, .running_fraction = 0}; }

EventCount CountBetween(const CounterReading& before, const CounterReading& after) {
  if (after.value < before.value || after.enabled < before.enabled ||
      after.running < before.running) {
    return AbsentCount();
  }
  const std::uint64_t enabled = after.enabled - before.enabled;
  const std::uint64_t running = after.running - before.running;
  if (running == 0 || running > enabled) return AbsentCount();
  return {.value = static_cast<double>(after.value - before.value),
          .running_fraction = static_cast<double>(running) / static_cast<double>(enabled)};
}

std::vector<EventCount> FoldCounts(std::span<const std::uint64_t> before,
                                   std::span<const std::uint64_t> after) {
  if (before.size() != after.size()) {
    throw std::invalid_argument("two readings of a counter source differ in length");
  }
  std::vector<EventCount> counts(before.size(), AbsentCount());
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (after[i] < before[i]) continue;
    counts[i] = {.value = static_cast<double>(after[i] - before[i]), .running_fraction = 1.0};
  }
  return counts;
}

EventCount SumOverThreads(std::span<const CounterReading> before,
                          std::span<const CounterReading> after) {
  double sum = 0;
  double enabled = 0;
  double running = 0;
  for (std::size_t t = 0; t < after.size(); ++t) {
    const bool idle = after[t].enabled == before[t].enabled && after[t].value == before[t].value;
    if (idle) continue;
    const EventCount count = CountBetween(before[t], after[t]);
    if (!count.value) return AbsentCount();
    const auto lasted = static_cast<double>(after[t].enabled - before[t].enabled);
    sum += *count.value;
    enabled += lasted;
    running += lasted * count.running_fraction;
  }
  if (!(enabled > 0)) return AbsentCount();
  return {.value = sum, .running_fraction = running / enabled};
}

EventCount SumOverThreadsThatRan(std::span<const CounterReading> before,
                                 std::span<const CounterReading> after) {
  EventCount sum = AbsentCount();
  double enabled = 0;
  double running = 0;
  for (std::size_t t = 0; t < after.size(); ++t) {
    const bool was_there =
        after[t].running != before[t].running || after[t].value != before[t].value;
    if (after[t].enabled < before[t].enabled ||
        (was_there && !CountBetween(before[t], after[t]).value)) {
      EventCount lost = AbsentCount();
      lost.reason = "a thread's counter cannot be trusted: it was reset, or its times are wrong";
      return lost;
    }
    const auto lasted = static_cast<double>(after[t].enabled - before[t].enabled);
    enabled += lasted;
    const EventCount count = CountBetween(before[t], after[t]);
    if (!count.value) continue;
    sum.value = sum.value.value_or(0) + *count.value;
    running += lasted * count.running_fraction;
  }
  if (enabled > 0) sum.running_fraction = running / enabled;
  return sum;
}

std::vector<double> CostOfReading(std::span<const std::vector<EventCount>> pairs) {
  std::vector<double> costs;
  for (std::size_t e = 0; !pairs.empty() && e < pairs.front().size(); ++e) {
    std::vector<double> seen;
    for (const std::vector<EventCount>& counts : pairs) {
      if (const auto cost = Scaled(counts.at(e))) seen.push_back(*cost);
    }
    costs.push_back(seen.empty() ? 0.0 : Median(seen));
  }
  return costs;
}

EventCount WithoutReadings(const EventCount& count, double cost, double readings) {
  EventCount own = count;
  if (own.value) {
    own.value = std::max(0.0, *own.value - readings * cost * own.running_fraction);
  }
  return own;
}

void AddCount(const EventCount& more, EventCount& sum) {
  if (!more.value) return;
  sum.value = sum.value.value_or(0) + *more.value;
  sum.running_fraction += more.running_fraction;
}

EventCount MeanOfSum(const EventCount& sum, std::int64_t iterations) {
  if (!sum.value || iterations <= 0) return AbsentCount();
  const auto n = static_cast<double>(iterations);
  return {.value = *sum.value / n, .running_fraction = sum.running_fraction / n};
}

EventCount MeanCount(std::span<const EventCount> per_iteration) {
  EventCount sum = AbsentCount();
  for (const EventCount& count : per_iteration) AddCount(count, sum);
  return MeanOfSum(sum, static_cast<std::int64_t>(per_iteration.size()));
}

std::optional<double> Scaled(const EventCount& count) {
  if (!count.value || count.running_fraction <= 0) return std::nullopt;
  return *count.value / count.running_fraction;
}

}  // namespace topdnn
