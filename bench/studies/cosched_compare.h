// Simulates the policies of a cosched at the machine's speed around their runs, and compares these
// speeds.

#ifndef TOPDNN_BENCH_STUDIES_COSCHED_COMPARE_H_
#define TOPDNN_BENCH_STUDIES_COSCHED_COMPARE_H_

#include "bench/studies/cosched.h"
#include "harness/scheduling/machine_speed.h"

namespace topdnn {

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

#endif  // TOPDNN_BENCH_STUDIES_COSCHED_COMPARE_H_
