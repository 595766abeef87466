#include "bench/live/live_events.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>

#include "harness/counters/perf_event.h"
#include "harness/text/split_text.h"
#include "harness/topdown/metric.h"

namespace topdnn {

namespace {

constexpr std::int64_t kLeastRuns = 5;   // whose counts are one row's nodes
constexpr double kLeastRunning = 0.999;  // of the time: the group was on the counters
constexpr double kMostOverlapped = 0.1;  // of the runs: their counts are not the row's alone

void Add(const ResolvedEvent& event, LiveEvents& live) {
  live.names.push_back(event.name);
  live.events.push_back({.type = event.type, .exclude_kernel = 1, .config = event.config});
}

}  // namespace

LiveEvents LiveEventsOf(const std::string& metrics, const PerfSetting& setting) {
  LiveEvents live = {.smt = setting.smt};
  bool level1 = false;
  const auto add = [&](const std::string& name) {
    std::optional<ResolvedEvent> event = ResolveEvent(name, std::nullopt, setting.sysfs);
    if (!event || live.events.size() == LIVE_MOST_EVENTS) return;
    event->name = name;
    Add(*event, live);
  };
  for (const std::string_view name : SplitText(metrics, ",")) {
    level1 = level1 || name == "topdown-l1";
    if (!name.empty()) add(std::string(name));
  }
  if (!live.events.empty() && !level1) return live;
  live.names.clear();
  live.events.clear();
  const Level1Group group = PlanLevel1Group(setting);
  live.reason = group.reason;
  if (group.events.size() > LIVE_MOST_EVENTS) {
    live.reason = fmt::format("level 1 has {} events", group.events.size());
  } else if (!group.events.empty()) {
    for (const ResolvedEvent& event : group.events) Add(event, live);
    live.table = group.table;
    return live;
  }
  add("cycles");
  add("instructions");
  return live;
}

LiveTopdown TopdownOf(const LiveEvents& events, const LiveRow& row) {
  if (events.table == nullptr) {
    return {{}, events.reason.empty() ? "--metrics names other events" : events.reason};
  }
  if (row.hardware_tasks == 0) return {{}, "the events were not counted in the program"};
  if (row.running < kLeastRunning * row.enabled) {
    return {{},
            fmt::format("the events were on the counters {:.1f} % of the time",
                        100 * row.running / row.enabled)};
  }
  if (row.hardware_tasks < kLeastRuns) {
    return {{}, fmt::format("fewer than {} runs were counted", kLeastRuns)};
  }
  if (static_cast<double>(row.overlapped) > kMostOverlapped * static_cast<double>(row.tasks)) {
    return {{}, "the counts are also those of another thread's primitives"};
  }
  std::map<std::string, double, std::less<>> counts;
  for (std::size_t e = 0; e < events.names.size(); ++e) {
    counts[events.names[e]] = row.hardware.at(e);
  }
  const TopdownResult result = EvaluateTopdown(*events.table, counts, events.smt);
  LiveTopdown topdown;
  for (const auto& [name, value] : result.level1) topdown.nodes[name] = value;
  const bool any = std::any_of(result.level1.begin(), result.level1.end(),
                               [](const auto& node) { return node.second.has_value(); });
  if (any) return topdown;
  return {{}, fmt::format("not counted: {}", fmt::join(result.missing, " "))};
}

}  // namespace topdnn
