// The order in which the nodes of a model can be computed.

#ifndef TOPDNN_NETWORKS_ONNX_NODE_ORDER_H_
#define TOPDNN_NETWORKS_ONNX_NODE_ORDER_H_

#include <vector>

#include "networks/onnx/model.h"

namespace topdnn {

// Moves each node behind the nodes that make what it reads; nodes that are in such an order already
// keep it. ONNX asks for sorted nodes, but some programs that edit models append to the list.
// Throws OnnxError when nodes depend on each other in a circle.
void SortNodes(std::vector<ModelNode>& nodes);

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_ONNX_NODE_ORDER_H_
