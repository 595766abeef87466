// Layers that select indices of a value, for several translators.

#ifndef TOPDNN_NETWORKS_ONNX_SLICE_NODES_H_
#define TOPDNN_NETWORKS_ONNX_SLICE_NODES_H_

#include <vector>

#include "kernels/slice/slice.h"
#include "networks/onnx/node_import.h"

namespace topdnn {

// All indices of each dimension.
std::vector<SliceAxis> WholeAxes(const Shape& shape);

// Adds a layer unless the axes select everything.
ImportedValue AddSlice(NodeImport& node, const ImportedValue& value, std::vector<SliceAxis> axes,
                       SliceBorder border, float fill);

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_ONNX_SLICE_NODES_H_
