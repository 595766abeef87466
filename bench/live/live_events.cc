#include "bench/live/live_events.h"

#include <optional>

#include "harness/counters/perf_event.h"
#include "harness/text/split_text.h"

namespace topdnn {

LiveEvents LiveEventsOf(const std::string& metrics) {
  LiveEvents live;
  const auto add = [&live](const std::string& name) {
    const std::optional<ResolvedEvent> event =
        ResolveEvent(name, std::nullopt, "/sys/bus/event_source/devices");
    if (!event || live.events.size() == LIVE_MOST_EVENTS) return;
    live.names.push_back(name);
    live.events.push_back({.type = event->type, .exclude_kernel = 1, .config = event->config});
  };
  for (const std::string_view name : SplitText(metrics, ",")) {
    if (!name.empty()) add(std::string(name));
  }
  if (!live.events.empty()) return live;
  add("cycles");
  add("instructions");
  return live;
}

}  // namespace topdnn
