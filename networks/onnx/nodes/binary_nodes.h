// Layers of element-wise functions, for translators that compose an operation of several.

#ifndef TOPDNN_NETWORKS_ONNX_NODES_BINARY_NODES_H_
#define TOPDNN_NETWORKS_ONNX_NODES_BINARY_NODES_H_

#include <cstddef>
#include <optional>
#include <string_view>

#include "networks/onnx/import/node_import.h"

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

// The largest magnitude of an element of a boolean or an integer, if it is known.
std::optional<double> MostOf(const ImportedValue& value);
// Imports "add", "sub", "mul" or "div" of two int32 or int64, if an input is such a value. Returns
// whether it did. Throws UnsupportedNode when f32 may not represent a result.
bool ImportedOnIntegers(NodeImport& node, std::string_view function);

// A layer that computes the value's pending steps in 64-bit integers, and rounds to f32.
ImportedValue AddIntegerSteps(NodeImport& node, const ImportedValue& value);

// A scalar constant in f32.
ModelTensor ScalarTensor(double value);

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_ONNX_NODES_BINARY_NODES_H_
