// The events of the hardware that `topdnn trace --live` counts for each primitive.

#ifndef TOPDNN_BENCH_LIVE_LIVE_EVENTS_H_
#define TOPDNN_BENCH_LIVE_LIVE_EVENTS_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/live/live_trace.h"
#include "bench/live/records.h"
#include "harness/topdown/perf_events.h"

namespace topdnn {

struct LiveEvents {
  std::vector<std::string> names{};
  std::vector<LiveEvent> events{};      // one group, in user mode
  const TopdownTable* table = nullptr;  // its events of level 1 are counted
  bool smt = false;
  std::string reason{};  // without a table: why; empty if `metrics` names other events
};

// The single events of `metrics` ("cycles,instructions,MEM_LOAD_RETIRED:L3_MISS"), at most
// LIVE_MOST_EVENTS. Without any, or with "topdown-l1", the events of Top-Down's level 1 if this CPU
// counts them at once; else cycles and instructions. Other groups ("topdown-l2") are for the
// measurement here, because they may need several passes.
LiveEvents LiveEventsOf(const std::string& metrics,
                        const PerfSetting& setting = PerfSetting::Here());

// The nodes of level 1 of a row, from the sums of its counts; or why there are none.
struct LiveTopdown {
  std::map<std::string, std::optional<double>> nodes;
  std::string reason;
};
LiveTopdown TopdownOf(const LiveEvents& events, const LiveRow& row);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_LIVE_LIVE_EVENTS_H_
