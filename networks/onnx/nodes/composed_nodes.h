// Layers of reductions, for translators that compose an operation of them.

#ifndef TOPDNN_NETWORKS_ONNX_NODES_COMPOSED_NODES_H_
#define TOPDNN_NETWORKS_ONNX_NODES_COMPOSED_NODES_H_

#include <vector>

#include "kernels/reduce/reduce.h"
#include "networks/onnx/import/node_import.h"

namespace topdnn {

// The reduced axes stay, with an extent of 1.
ImportedValue AddReduction(NodeImport& node, ReduceAlgorithm algorithm, const ImportedValue& value,
                           const std::vector<int>& axes);

// log(softmax) along an axis.
ImportedValue AddLogSoftmax(NodeImport& node, const ImportedValue& value, int axis);

// A BatchNormalization in training mode: it normalizes with the mean and variance of its source,
// and its other results are the moving averages.
void ImportNormalizationOfBatch(NodeImport& node);

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_ONNX_NODES_COMPOSED_NODES_H_
