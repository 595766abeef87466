// The check before timing, of a network of any size: large ones are checked as the same graph on
// smaller images.

#ifndef TOPDNN_BENCH_STEP_CHECK_H_
#define TOPDNN_BENCH_STEP_CHECK_H_

#include <string>
#include <vector>

#include "bench/images.h"
#include "bench/workload.h"
#include "networks/check.h"

namespace topdnn {

struct StepChecks {
  std::vector<StageCheck> stages;  // of the plan, one a stage
  std::string note;                // what was checked, where it was not the plan itself; or empty
};

// Holds every stage of the plan to the reference, on the data that is in it. What the reference
// would take too long for, more than kMostCheckedMacs a step, is checked as the same network on
// NetworkOffer::small, in a batch of two with ten classes: stages are matched by name and pass, and
// the note says how many run another implementation there. Reorders are always the plan's own.
StepChecks CheckStep(const WorkloadOptions& options, bool training, Plan& plan);

inline constexpr std::int64_t kMostCheckedMacs = std::int64_t{4} * 1000 * 1000 * 1000;

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STEP_CHECK_H_
