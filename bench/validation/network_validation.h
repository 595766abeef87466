// Counts a whole network's step, stage by stage, and checks the counts.

#ifndef TOPDNN_BENCH_VALIDATION_NETWORK_VALIDATION_H_
#define TOPDNN_BENCH_VALIDATION_NETWORK_VALIDATION_H_

#include "bench/workload/workload.h"
#include "harness/report/validation.h"

namespace topdnn {

// Compares the FLOPs of one training step as the graph defines them with those executed. A network
// that cannot be planned is SKIPPED with the planner's reason.
ValidationCase ValidateStep(const ValidationSources& sources, const WorkloadOptions& options);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_VALIDATION_NETWORK_VALIDATION_H_
