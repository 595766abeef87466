// The Top-Down metrics that perf computed itself and wrote beside its counts: "%  tma_retiring".

#ifndef TOPDNN_HARNESS_TOPDOWN_RECORDED_METRICS_H_
#define TOPDNN_HARNESS_TOPDOWN_RECORDED_METRICS_H_

#include <string>

#include "harness/topdown/metric.h"
#include "harness/topdown/recorded_counts.h"
#include "harness/topdown/resolved_counts.h"

namespace topdnn {

struct RecordedNodes {
  TopdownResult result;  // level 1 is empty if the file has no such metric
  std::string note;      // why metrics of the file are not used; may be empty
  std::string contradiction;
};

// The metrics of the selection that are nodes of the table's first path. Shares cannot be added
// over intervals or CPUs, so a metric with several values is not used.
RecordedNodes NodesOfMetrics(const TopdownTable& table, const RecordedCounts& recorded,
                             const CountSelection& selection);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_TOPDOWN_RECORDED_METRICS_H_
