// Layers that select indices of a value, for several translators.

#ifndef TOPDNN_NETWORKS_ONNX_NODES_SLICE_NODES_H_
#define TOPDNN_NETWORKS_ONNX_NODES_SLICE_NODES_H_

#include <vector>

#include "kernels/slice/slice.h"
#include "networks/onnx/import/node_import.h"

namespace topdnn {

// Axes that select all indices of each dimension.
std::vector<SliceAxis> WholeAxes(const Shape& shape);

// The selected elements: adds a layer unless `axes`, one for each dimension, are WholeAxes.
// `fill` is for SliceBorder::kFill. Throws std::invalid_argument as SliceOp does.
ImportedValue AddSlice(NodeImport& node, const ImportedValue& value, std::vector<SliceAxis> axes,
                       SliceBorder border, float fill);

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_ONNX_NODES_SLICE_NODES_H_
