// The order in which the nodes of a model can be computed.

#ifndef TOPDNN_NETWORKS_ONNX_MODEL_NODE_ORDER_H_
#define TOPDNN_NETWORKS_ONNX_MODEL_NODE_ORDER_H_

#include <vector>

#include "networks/onnx/model/model.h"

namespace topdnn {

// Moves each node behind the nodes that compute its inputs. Nodes that are already in such an order
// keep it. ONNX requires sorted nodes, but some programs that edit models append to the list.
// Throws OnnxError if nodes depend on each other in a circle.
void SortNodes(std::vector<ModelNode>& nodes);

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_ONNX_MODEL_NODE_ORDER_H_
