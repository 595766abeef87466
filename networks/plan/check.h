// Checks every stage of a plan against the reference, on the data of a real step.

#ifndef TOPDNN_NETWORKS_PLAN_CHECK_H_
#define TOPDNN_NETWORKS_PLAN_CHECK_H_

#include <functional>
#include <string>
#include <vector>

#include "networks/plan/plan.h"

namespace topdnn {

struct StageCheck {
  bool agrees = true;
  double error = 0;          // largest RelativeError of a result (kernels/check/tolerance.h)
  double tolerance = 0;      // see kernels/check/tolerance.h
  std::string reason;        // why it does not agree, in one line
  bool mostly_zero = false;  // a result of the reference is mostly zero: the check shows little
};

// Runs one step. For each stage it copies the inputs, runs the stage, runs the reference's kernel
// of the same operation on the same inputs, and compares all results. So an error counts for the
// stage that causes it, and not for later stages that use its result. The plan must be allocated,
// its input and labels filled. Parameters are updated as in any step.
std::vector<StageCheck> CheckStages(Plan& plan);

// The same, but stages for which `wanted` is false only run and count as agreeing. A stage that
// reads saved data can be checked only together with the stage that saves it.
std::vector<StageCheck> CheckStages(Plan& plan, const std::function<bool(const Stage&)>& wanted);

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_PLAN_CHECK_H_
