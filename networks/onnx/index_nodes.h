// Layers that choose elements by their places, for translators that compose an operation of them.

#ifndef TOPDNN_NETWORKS_ONNX_INDEX_NODES_H_
#define TOPDNN_NETWORKS_ONNX_INDEX_NODES_H_

#include <cstdint>
#include <vector>

#include "networks/onnx/node_import.h"

namespace topdnn {

// The whole numbers from 0 to `count` - 1 along a dimension of a tensor of `rank` dimensions, with
// the extent 1 in all others.
ModelTensor CountAlong(NodeImport& node, std::int64_t count, int axis, int rank);

// A layer with the elements of the value at these positions of its row-major elements. Throws
// UnsupportedNode for a value of more than 2^24 elements.
ImportedValue AddGather(NodeImport& node, const ImportedValue& value,
                        const std::vector<std::int64_t>& positions, const Shape& shape);

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_ONNX_INDEX_NODES_H_
