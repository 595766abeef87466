// Concatenations that need no copy.

#ifndef TOPDNN_NETWORKS_PLAN_CONCAT_H_
#define TOPDNN_NETWORKS_PLAN_CONCAT_H_

#include "networks/plan_draft.h"

namespace topdnn {

// Takes out every concatenation whose parts lie one after the other in the whole, as their layouts
// have it (of one image along the channels, row-major or in whole blocks): its sources become parts
// of its result's memory, and in the backward pass its gradients parts of the result's gradient.
// Call when every stage is there.
void DropCopiesOfConcats(PlanDraft& draft);

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_PLAN_CONCAT_H_
