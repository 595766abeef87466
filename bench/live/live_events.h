// The events of the hardware that `topdnn trace --live` counts for each primitive.

#ifndef TOPDNN_BENCH_LIVE_LIVE_EVENTS_H_
#define TOPDNN_BENCH_LIVE_LIVE_EVENTS_H_

#include <string>
#include <vector>

#include "bench/live/records.h"

namespace topdnn {

struct LiveEvents {
  std::vector<std::string> names;
  std::vector<LiveEvent> events;  // one group, in user mode
};

// The single events of `metrics` ("cycles,instructions,MEM_LOAD_RETIRED:L3_MISS"), at most
// LIVE_MOST_EVENTS; cycles and instructions if there is none. Groups ("topdown-l1") are for the
// measurement here, because they may need several passes.
LiveEvents LiveEventsOf(const std::string& metrics);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_LIVE_LIVE_EVENTS_H_
