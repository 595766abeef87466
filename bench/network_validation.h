// A whole network's step, counted stage by stage and judged.

#ifndef TOPDNN_BENCH_NETWORK_VALIDATION_H_
#define TOPDNN_BENCH_NETWORK_VALIDATION_H_

#include <string>

#include "bench/workload.h"
#include "harness/validation.h"

namespace topdnn {

// One training step of the workload: its FLOPs as the graph defines them against those executed.
// What cannot be planned is SKIPPED, with the planner's reason.
ValidationCase ValidateStep(const ValidationSources& sources, const WorkloadOptions& options);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_NETWORK_VALIDATION_H_
