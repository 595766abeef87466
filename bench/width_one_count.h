// Counts at one thread what could not be counted whole at several: pools whose workers the exact
// counter does not follow (Eigen's) then do all on the calling thread.

#ifndef TOPDNN_BENCH_WIDTH_ONE_COUNT_H_
#define TOPDNN_BENCH_WIDTH_ONE_COUNT_H_

#include "bench/plan_profile.h"
#include "bench/workload.h"

namespace topdnn {

// Where stages of `profile` lack the counts of a source that runs them, plans the same workload at
// one thread, counts one step of it, and takes the counts of those stages; each says so in its
// reason, and names the implementation that ran if it is another one at that width. Does nothing
// for a plan at one thread already.
void CountAtWidthOne(const WorkloadOptions& options, bool training, const Plan& plan,
                     const ProfileSettings& settings, PlanProfile& profile);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_WIDTH_ONE_COUNT_H_
