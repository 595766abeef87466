// Layers of element-wise functions, for translators that compose an operation of several.

#ifndef TOPDNN_NETWORKS_ONNX_BINARY_NODES_H_
#define TOPDNN_NETWORKS_ONNX_BINARY_NODES_H_

#include <cstddef>
#include <string_view>

#include "networks/onnx/node_import.h"

namespace topdnn {

// A layer with a function of kernels/eltwise/unary.h and its default parameters.
ImportedValue AddUnary(NodeImport& node, std::string_view function, const ImportedValue& value);

// Layers with a function of kernels/eltwise/binary.h, with ONNX's broadcasting.
ImportedValue AddBinary(NodeImport& node, std::string_view function, const ImportedValue& first,
                        const ImportedValue& second);
ImportedValue AddBinary(NodeImport& node, std::string_view function, const ImportedValue& first,
                        const ModelTensor& second);
ImportedValue AddBinary(NodeImport& node, std::string_view function, const ModelTensor& first,
                        const ImportedValue& second);
// The same for two inputs of the node, of any element types, of which one may be a constant.
ImportedValue AddBinaryOfInputs(NodeImport& node, std::string_view function, std::size_t first,
                                std::size_t second);

// A scalar constant in f32.
ModelTensor ScalarTensor(double value);

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_ONNX_BINARY_NODES_H_
