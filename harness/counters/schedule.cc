#include "harness/counters/schedule.h"

#include <algorithm>

namespace topdnn {

namespace {

constexpr std::size_t kNone = ~std::size_t{0};

// Augmenting paths (Kuhn): gives `event` a counter, and moves other events if needed.
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

// Whether all events fit on the counters that are not `taken`: tries every placement of the paired
// events, with a matching of the single ones over the remaining counters. There are only a few
// paired events.
bool FitsAround(std::span<const SchedulableEvent> events, std::span<const std::size_t> single,
                std::span<const std::size_t> paired, std::vector<bool>& taken) {
  if (!paired.empty()) {
    for (std::size_t c = 0; c + 1 < taken.size(); c += 2) {
      if (taken[c] || taken[c + 1] || (events[paired.front()].counters >> c & 1) == 0) continue;
      taken[c] = taken[c + 1] = true;
      if (FitsAround(events, single, paired.subspan(1), taken)) return true;
      taken[c] = taken[c + 1] = false;
    }
    return false;
  }
  std::vector<std::size_t> owner(taken.size(), kNone);
  for (const std::size_t event : single) {
    std::vector<bool> tried = taken;
    if (!Assign(events, event, taken.size(), owner, tried)) return false;
  }
  return true;
}

}  // namespace

bool FitsAtOnce(std::span<const SchedulableEvent> events, std::span<const std::size_t> chosen,
                std::size_t counters) {
  std::vector<std::size_t> single;
  std::vector<std::size_t> paired;
  for (const std::size_t event : chosen) {
    if (!events[event].fixed) (events[event].paired ? paired : single).push_back(event);
  }
  std::vector<bool> taken(std::min<std::size_t>(counters, 64), false);
  return FitsAround(events, single, paired, taken);
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
