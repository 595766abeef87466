// The memory experiment (harness/experiments) on a plan: which of its memory may be remapped, and
// what the result adds to the records.

#ifndef TOPDNN_BENCH_PROFILE_STAGE_EXPERIMENT_H_
#define TOPDNN_BENCH_PROFILE_STAGE_EXPERIMENT_H_

#include <string>
#include <vector>

#include "bench/profile/plan_profile.h"
#include "bench/profile/stage_bounds.h"
#include "bench/workload/images.h"
#include "harness/experiments/memory_experiment.h"
#include "harness/machine/topology.h"
#include "harness/record.h"
#include "networks/plan.h"

namespace topdnn {

// The names that --experiment takes.
std::vector<std::string> ExperimentNames();

// Call it once the plan is allocated, before anything is measured. Throws NothingMeasured if this
// machine cannot do the experiment, and UsageError if there is too little memory for the copies.
void CheckMemoryExperiment(const std::vector<Cache>& caches, int threads);

// Runs the experiment for about twice the time of the profile's timed steps. Throws RemapError if
// the system refuses a mapping.
MemoryExperiment ExperimentOnMemory(Plan& plan, TrainingImages& images,
                                    const std::vector<Cache>& caches,
                                    const ProfileSettings& settings);

// Fills `topdown_experiment` or `experiment_reason` of every stage and of the step. Call it after
// the validity pass: it uses the bounds that are left, and a record without a valid time gets none.
void AddExperiment(const MemoryExperiment& experiment, const BoundsMachine& machine, Regime regime,
                   Report& report);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_PROFILE_STAGE_EXPERIMENT_H_
