// Computes a node whose inputs are all constants: its translator adds it to a graph of its own,
// which the reference backend runs once. So every operation that a network may have also works on
// constants, by the same definition.

#ifndef TOPDNN_NETWORKS_ONNX_IMPORT_CONSTANT_GRAPH_H_
#define TOPDNN_NETWORKS_ONNX_IMPORT_CONSTANT_GRAPH_H_

#include "networks/onnx/import/node_import.h"

namespace topdnn {

// Sets the node's results. Numbers are computed in f64 when an input is of integers of 32 or 64
// bits, or of double, which is exact for integers up to 2^53; otherwise in f32, as in a network. An
// operation that only moves elements is exact in any type. Throws UnsupportedNode.
void ComputeOnConstants(NodeImport& node, const NodeTranslator& translate);

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_ONNX_IMPORT_CONSTANT_GRAPH_H_
