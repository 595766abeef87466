// Which hardware events really count together here: what was asked for is packed into passes, each
// pass is opened and run, and what the kernel or the machine refuses is left out with its reason.
//
// Asking is the only sure way: a watchdog, another profiler or the hypervisor takes counters
// without a sign, and an event can be unknown, reserved for the privileged, or dead.

#ifndef TOPDNN_HARNESS_COUNTERS_PERF_PLAN_H_
#define TOPDNN_HARNESS_COUNTERS_PERF_PLAN_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "harness/counters/perf_event.h"
#include "harness/counters/schedule.h"

namespace topdnn {

struct PerfRequest {
  ResolvedEvent event;
  SchedulableEvent needs;
  // Counted in every pass and first in it: what ratios are taken to, and the leader that the
  // kernel wants of a group (`slots` before its metrics).
  bool common = false;
};

struct PerfPlan {
  struct Absent {
    std::string name;
    int error = 0;  // an errno; 0: opens, but never gets on a counter
  };
  std::vector<std::vector<ResolvedEvent>> passes;  // each a group, its leader first
  std::vector<Absent> absent;
  // Of a hybrid CPU: the cycles on each other core type, counted beside every pass, in a group
  // each.
  std::vector<ResolvedEvent> elsewhere{};
  std::size_t counters = 0;  // general counters found free at once
};

// `work` runs for long enough to be counted, about 100 us. `passes` is empty when nothing counts;
// `absent` then says why, the common event first.
PerfPlan PlanPerf(const PerfSyscalls& calls, const std::vector<PerfRequest>& requests,
                  const std::function<void()>& work);

// A little arithmetic for it.
void SpinForATrial();

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_COUNTERS_PERF_PLAN_H_
