// The names of the TensorFlow operations that the stages of a plan stand for.

#ifndef TOPDNN_NETWORKS_PLANNING_FRAMEWORK_OP_H_
#define TOPDNN_NETWORKS_PLANNING_FRAMEWORK_OP_H_

#include <string>
#include <vector>

#include "networks/plan/plan.h"
#include "networks/planning/plan_rules.h"

namespace topdnn {

// The operation of a stage, by its name in TensorFlow's graph ("_FusedConv2D"); several with "+"
// between them if the stage computes what TensorFlow computes in several. Empty for a reorder,
// which belongs to another stage, and if TensorFlow has no such operation.
std::string TensorflowOpOf(const Stage& stage, const PlanRules& rules);

// Sets Stage::framework_op of all stages. A reorder has the name of the operation whose kernel
// reorders: the first that reads its result, or the one that writes its source, a gradient.
void NameFrameworkOps(std::vector<Stage>& stages, const PlanRules& rules);

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_PLANNING_FRAMEWORK_OP_H_
