// Measures the speed of the machine before and after the run of a policy (SpeedCheck of
// harness/scheduling/machine_speed.h): a job of each kind runs alone for a moment at each width.

#ifndef TOPDNN_BENCH_STUDIES_COSCHED_CHECK_H_
#define TOPDNN_BENCH_STUDIES_COSCHED_CHECK_H_

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <vector>

#include "bench/studies/cosched.h"
#include "bench/studies/cosched_measure.h"
#include "harness/scheduling/machine_speed.h"
#include "harness/scheduling/speed_model.h"
#include "harness/scheduling/trace.h"

namespace topdnn {

// The kinds that a check measures: those of the most work in the trace, and at most four, so that a
// check takes a few seconds.
std::vector<TraceJob> KindsToCheck(std::span<const TraceJob> jobs, const SpeedModel& model);

// A job that fails is a check without times. Each job is a process that ends with the check: it
// takes no memory while a policy runs, and its start-up is measured again.
SpeedCheck CheckSpeed(std::span<const TraceJob> kinds, const SpeedSettings& settings);

// Adds the speed of the machine around the run of the policy, and the model at that speed. If it is
// not known, the policy says why.
void AddSpeed(const SpeedCheck& before, const SpeedCheck& after, const CoschedResult& result,
              CoschedPolicy& policy);

// With the model at the speed around the run, if that is known, else with that of the result.
void SimulatePolicy(const CoschedResult& result, CoschedPolicy& policy);

// For policies with a speed: which of them do not compare, and estimates of their makespans at the
// common speed.
void CompareSpeeds(CoschedResult& result);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_COSCHED_CHECK_H_
