// Axes and positions of nodes, and layers that choose elements by their places.

#ifndef TOPDNN_NETWORKS_ONNX_NODES_INDEX_NODES_H_
#define TOPDNN_NETWORKS_ONNX_NODES_INDEX_NODES_H_

#include <cstdint>
#include <vector>

#include "networks/onnx/import/node_import.h"

namespace topdnn {

// Throws UnsupportedNode for a tensor without elements, whose extents must not divide.
void RequireElements(const Shape& shape);

// The dimension of the shape that `axis` names. Negative values count from the last dimension.
// Throws UnsupportedNode if the shape has no such dimension.
int AxisIn(const Shape& shape, std::int64_t axis);

// The same of the node's attribute `axis`, or of `otherwise` if it has none.
int AxisOf(const NodeImport& node, const Shape& shape, std::int64_t otherwise);

// The axis along which a softmax, log-softmax or hardmax runs. Before opset 13 all dimensions from
// the node's axis on are one row: `value` is reshaped to (rows, columns), and the axis is 1. The
// caller gives the result its shape.
int SoftmaxAxisOf(const NodeImport& node, ImportedValue& value);

// An index along a dimension as a position from its start. Negative values count from the end.
// Throws UnsupportedNode if the index is outside the dimension.
std::int64_t PositionOf(std::int64_t index, std::int64_t extent);

// Throws UnsupportedNode if another batch is imported than the one that the file fixes, and the
// constant indices (input 1) into the value (input 0) are those of the file's images.
void CheckIndicesFollowBatch(const NodeImport& node);

// The whole numbers from 0 to `count` - 1 along a dimension of a tensor of `rank` dimensions, with
// the extent 1 in all others.
ModelTensor IndicesAlong(NodeImport& node, std::int64_t count, int axis, int rank);

// A layer that selects the elements of the value at these row-major positions. `shape`: of the
// result. Throws std::invalid_argument for a value of more than 2^24 elements (GatherOp).
ImportedValue AddGather(NodeImport& node, const ImportedValue& value,
                        const std::vector<std::int64_t>& positions, const Shape& shape);

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_ONNX_NODES_INDEX_NODES_H_
