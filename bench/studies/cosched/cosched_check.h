// Measures the speed of the machine at one moment, before and after the run of a policy: jobs run
// alone at each width in turn, then several at once.

#ifndef TOPDNN_BENCH_STUDIES_COSCHED_COSCHED_CHECK_H_
#define TOPDNN_BENCH_STUDIES_COSCHED_COSCHED_CHECK_H_

#include <span>
#include <vector>

#include "bench/studies/cosched/cosched_measure.h"
#include "harness/scheduling/machine_speed.h"
#include "harness/scheduling/speed_model.h"
#include "harness/scheduling/trace.h"

namespace topdnn {

// The kinds that a check measures: those of the most work in the trace, and at most four, so that a
// check takes a few seconds.
std::vector<TraceJob> KindsToCheck(std::span<const TraceJob> jobs, const SpeedModel& model);

// If a job fails, the check has no times. `kinds` are at most four. The jobs end with the check,
// so that they take no memory while a policy runs.
SpeedCheck CheckSpeed(std::span<const TraceJob> kinds, const SpeedSettings& settings);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_COSCHED_COSCHED_CHECK_H_
