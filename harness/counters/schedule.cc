#include "harness/counters/schedule.h"

#include <algorithm>

namespace topdnn {

namespace {

constexpr std::size_t kNone = ~std::size_t{0};

// Augmenting paths (Kuhn): gives `event` a counter, moving others where that helps.
bool Assign(std::span<const SchedulableEvent> events, std::size_t event, std::size_t counters,
            std::vector<std::size_t>& owner, std::vector<bool>& tried) {
  for (std::size_t c = 0; c < counters; ++c) {
    if ((events[event].counters >> c & 1) == 0 || tried[c]) continue;
    tried[c] = true;
    if (owner[c] == kNone || Assign(events, owner[c], counters, owner, tried)) {
      owner[c] = event;
      return true;
    }
  }
  return false;
}

}  // namespace

bool FitsAtOnce(std::span<const SchedulableEvent> events, std::span<const std::size_t> chosen,
                std::size_t counters) {
  counters = std::min<std::size_t>(counters, 64);
  std::vector<std::size_t> owner(counters, kNone);
  for (const std::size_t event : chosen) {
    if (events[event].fixed) continue;
    std::vector<bool> tried(counters, false);
    if (!Assign(events, event, counters, owner, tried)) return false;
  }
  return true;
}

CounterSchedule PlanPasses(std::span<const SchedulableEvent> events, std::size_t counters,
                           std::span<const std::size_t> common) {
  CounterSchedule schedule;
  const std::vector<std::size_t> base(common.begin(), common.end());
  if (!FitsAtOnce(events, base, counters)) {
    for (std::size_t i = 0; i < events.size(); ++i) schedule.impossible.push_back(i);
    return schedule;
  }
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (std::find(base.begin(), base.end(), i) != base.end()) continue;
    bool placed = false;
    for (CounterPass& pass : schedule.passes) {
      pass.events.push_back(i);
      placed = FitsAtOnce(events, pass.events, counters);
      if (placed) break;
      pass.events.pop_back();
    }
    if (placed) continue;
    CounterPass fresh{base};
    fresh.events.push_back(i);
    if (FitsAtOnce(events, fresh.events, counters)) {
      schedule.passes.push_back(std::move(fresh));
    } else {
      schedule.impossible.push_back(i);
    }
  }
  if (schedule.passes.empty() && !base.empty()) schedule.passes.push_back({base});
  return schedule;
}

}  // namespace topdnn
