// The stages of the backward passes.

#ifndef TOPDNN_NETWORKS_PLAN_BACKWARD_H_
#define TOPDNN_NETWORKS_PLAN_BACKWARD_H_

#include "networks/plan_draft.h"

namespace topdnn {

// From the gradient of the output (draft.gradients) to those of all parameters. Gradients of a
// value that several layers read are summed by a stage of their own, LAYER.gradient; an addition
// passes its gradient on without a copy; and no gradient is computed that no parameter needs.
void PlanBackward(PlanDraft& draft);

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_PLAN_BACKWARD_H_
