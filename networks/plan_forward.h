// The stages of the forward pass, and the loss.

#ifndef TOPDNN_NETWORKS_PLAN_FORWARD_H_
#define TOPDNN_NETWORKS_PLAN_FORWARD_H_

#include "networks/plan_draft.h"

namespace topdnn {

// One stage a unit of draft.fused, and reorders where a kernel wants another layout than its source
// has. A result is written over the source where nothing reads that any more.
void PlanForward(PlanDraft& draft);

// Softmax cross-entropy of the output (N, classes), in f32 whatever the network computes in (f64 in
// a check in double). Throws PlanError for another output.
void PlanLoss(PlanDraft& draft);

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_PLAN_FORWARD_H_
