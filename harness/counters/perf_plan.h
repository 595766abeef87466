// Finds which hardware events really count together on this machine: packs the requested events
// into passes, opens and runs each pass, and omits with a reason what the kernel or the machine
// refuses.
//
// Only a trial is reliable: a watchdog, another profiler or the hypervisor takes counters without
// notice, and an event can be unknown, privileged, or never count.

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
  // Counted first in every pass: the denominators of ratios, and the leader that the kernel
  // requires for a group (`slots` before its metrics).
  bool common = false;
};

struct PerfPlan {
  struct Absent {
    std::string name;
    int error = 0;  // an errno; 0: opens, but never gets on a counter
  };
  std::vector<std::vector<ResolvedEvent>> passes;  // each a group, its leader first
  std::vector<Absent> absent = {};
  // On a hybrid CPU: the cycles on each other core type, counted with every pass in separate
  // groups.
  std::vector<ResolvedEvent> elsewhere{};
  std::size_t counters = 0;  // general counters found free at once
};

// `work` must run long enough to be counted, about 100 us. If nothing counts, `passes` is empty and
// `absent` gives the reasons, the common event first.
PerfPlan PlanPerf(const PerfSyscalls& calls, const std::vector<PerfRequest>& requests,
                  const std::function<void()>& work);

// Some arithmetic to use as `work`.
void SpinForATrial();

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_COUNTERS_PERF_PLAN_H_
