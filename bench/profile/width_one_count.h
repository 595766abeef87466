// Counts at one thread the stages that could not be counted completely at several. The exact
// counter does not follow the workers of some pools (Eigen's); at one thread the calling thread
// does all the work.

#ifndef TOPDNN_BENCH_PROFILE_WIDTH_ONE_COUNT_H_
#define TOPDNN_BENCH_PROFILE_WIDTH_ONE_COUNT_H_

#include "bench/profile/plan_profile.h"
#include "bench/workload/workload.h"

namespace topdnn {

// If stages of `profile` lack the counts of a source that runs them: plans the same workload at one
// thread, counts one step, and uses the counts of those stages. The reason of each says so, and
// names the implementation if it differs at that width. Does nothing for a plan that already uses
// one thread.
void CountAtWidthOne(const WorkloadOptions& options, bool training, const Plan& plan,
                     const ProfileSettings& settings, PlanProfile& profile);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_PROFILE_WIDTH_ONE_COUNT_H_
