// Holds every stage of a plan to the reference, on the data that really flows through it.

#ifndef TOPDNN_NETWORKS_CHECK_H_
#define TOPDNN_NETWORKS_CHECK_H_

#include <functional>
#include <string>
#include <vector>

#include "networks/plan.h"

namespace topdnn {

struct StageCheck {
  bool agrees = true;
  double error = 0;      // largest over the stage's results, relative to each one's largest entry
  double tolerance = 0;  // see kernels/tolerance.h
  std::string reason;    // why it does not agree, in one line
};

// Runs one step, stage by stage: copies what the stage reads, runs it, gives the same to the
// reference's kernel of the same operation, and compares all that the stage writes. So an error is
// charged to the stage that made it, not to those that inherit it. The plan must be allocated, its
// input and labels filled. Parameters are updated as in any step.
std::vector<StageCheck> CheckStages(Plan& plan);

// The same, but for stages for which `wanted` is false: those run and count as agreeing. A stage
// that reads what another has saved cannot be checked without that one.
std::vector<StageCheck> CheckStages(Plan& plan, const std::function<bool(const Stage&)>& wanted);

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_CHECK_H_
