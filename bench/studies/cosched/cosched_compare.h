// Simulates the policies of `topdnn cosched` at the machine's speed around their runs, and compares
// these speeds.

#ifndef TOPDNN_BENCH_STUDIES_COSCHED_COSCHED_COMPARE_H_
#define TOPDNN_BENCH_STUDIES_COSCHED_COSCHED_COMPARE_H_

#include "bench/studies/cosched/cosched.h"
#include "harness/scheduling/machine_speed.h"

namespace topdnn {

// Adds the speed of the machine around the run of the policy, and the model at that speed. If the
// speed is not known, adds the reason as a doubt.
void AddSpeed(const SpeedCheck& before, const SpeedCheck& after, const CoschedResult& result,
              CoschedPolicy& policy);

// Simulates the policy, with the model at the speed around its run if that is known, otherwise with
// the model of the result.
void SimulatePolicy(const CoschedResult& result, CoschedPolicy& policy);

// For the policies with a speed: adds a doubt to those whose speed changed or differs from the
// common one, and estimates their makespans at the common speed.
void CompareSpeeds(CoschedResult& result);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_COSCHED_COSCHED_COMPARE_H_
