// Translates metrics by name (`topdown-l2`, `flops`, an event) to the events to count on a core,
// with the counter constraints of each.

#ifndef TOPDNN_HARNESS_TOPDOWN_REQUESTS_H_
#define TOPDNN_HARNESS_TOPDOWN_REQUESTS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "harness/counters/perf_plan.h"
#include "harness/counters/sysfs_pmu.h"
#include "harness/topdown/metric.h"

namespace topdnn {

// "topdown-l1" to "topdown-l4", "flops", "memory"; anything else is an event.
const std::vector<std::string>& MetricNames();

// Splits at commas, except those between slashes ("cpu/event=0x3c,umask=0x1/").
std::vector<std::string> SplitMetrics(std::string_view text);

struct RequestContext {
  const TopdownTable* table = nullptr;  // nullptr: no table for this core
  std::size_t path = 0;                 // of the table
  bool smt = false;                     // two hardware threads share each core
  std::string sysfs = kSysfsPmus;
  const SysfsPmu* core_type = nullptr;  // the core type to open events on, on a hybrid CPU
};

struct MetricRequests {
  std::vector<PerfRequest> events;  // cycles and instructions among them, each once
  std::vector<std::string> notes;   // on metrics that this core cannot count
};

// Throws TopdownError, in one line, for an unknown event.
MetricRequests RequestsFor(const std::vector<std::string>& metrics, const RequestContext& context);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_TOPDOWN_REQUESTS_H_
