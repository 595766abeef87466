// What an operation means depends on the version of ONNX's operator set. The translators read
// opsets from 7 on as they are; this file has what else differs in 6.

#ifndef TOPDNN_NETWORKS_ONNX_IMPORT_OPERATOR_VERSIONS_H_
#define TOPDNN_NETWORKS_ONNX_IMPORT_OPERATOR_VERSIONS_H_

#include "networks/onnx/import/node_import.h"

namespace topdnn {

// Throws UnsupportedNode for an operation whose definition in the node's opset is another one than
// its translator's.
void CheckVersion(const ModelNode& node);

// The translator of the node in its opset, or nullptr. Before opset 7 a second operand was aligned
// at the node's `axis`.
const NodeTranslator* FindTranslator(const ModelNode& node);

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_ONNX_IMPORT_OPERATOR_VERSIONS_H_
