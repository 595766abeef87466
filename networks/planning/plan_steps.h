// The steps of planning, in the order in which MakePlan (planner.h) calls them. Parameters and
// their updates have their own class (plan_parameters.h).

#ifndef TOPDNN_NETWORKS_PLANNING_PLAN_STEPS_H_
#define TOPDNN_NETWORKS_PLANNING_PLAN_STEPS_H_

#include "networks/planning/plan_draft.h"

namespace topdnn {

// Adds one stage per unit of draft.fused, and reorders where a kernel needs another layout than its
// source has. A result reuses the memory of the source when nothing reads the source any more.
void PlanForward(PlanDraft& draft);

// Adds the softmax cross-entropy of the output (N, classes, ...): the mean over the images, and
// over the places of an image if there are further dimensions. It computes in f32 for every type of
// the network (in f64 in a check in double). Throws PlanError for another output.
void PlanLoss(PlanDraft& draft);

// Plans the passes from the gradient of the output (draft.gradients) to those of all parameters. A
// value that several layers read has several gradients; a separate stage, LAYER.gradient, sums
// them. An addition passes its gradient on without a copy. Gradients that no parameter depends on
// are not computed.
void PlanBackward(PlanDraft& draft);

// Removes each concatenation whose parts are contiguous in the whole (for example, one image
// concatenated along the channels, row-major or in whole blocks). Its sources become parts of its
// result's memory; in the backward pass its gradients become parts of the result's gradient. Call
// it when all stages exist.
void DropCopiesOfConcats(PlanDraft& draft);

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_PLANNING_PLAN_STEPS_H_
