// Layers that compute on integers, for QuantizeLinear and the operations on quantized values.
//
// A value of integers is kept in one of two ways. In general its elements are the integers, as
// whole numbers in f32; sums of them are exact below 2^24. With a zero point of 0, or 128 of u8,
// between layers that oneDNN computes in integers, its elements are the real numbers that the
// integers stand for (ImportedValue::quantized), behind a quantization and its inverse.
// IntegerGraph then finds the same pattern as in a file with QuantizeLinear and DequantizeLinear
// (networks/quantization/quantized_graph.h).

#ifndef TOPDNN_NETWORKS_ONNX_NODES_INTEGER_LAYERS_H_
#define TOPDNN_NETWORKS_ONNX_NODES_INTEGER_LAYERS_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "networks/onnx/import/node_import.h"

namespace topdnn {

// A scale or zero point: a constant or a value of the network, which broadcasts.
using IntegerOperand = std::variant<ModelTensor, ImportedValue>;

// A layer with a function of kernels/eltwise/binary.h.
ImportedValue AddBinaryOf(NodeImport& node, std::string_view function, const ImportedValue& value,
                          const IntegerOperand& operand);

// The integers of a type, kOnnxUint8 or kOnnxInt8, for real numbers: the nearest integer to real /
// scale, a tie to the even one, plus the zero point, limited to the type's range. An absent scale
// is 1. Throws UnsupportedNode for another type.
ImportedValue AddIntegers(NodeImport& node, const ImportedValue& reals,
                          const std::optional<IntegerOperand>& scale,
                          const std::optional<IntegerOperand>& zero_point, std::int64_t type);
// (integer - zero point) * scale.
ImportedValue AddReals(NodeImport& node, const ImportedValue& integers, const IntegerOperand& scale,
                       const std::optional<IntegerOperand>& zero_point);

// Whether each reader of the node's first result takes integers that are kept as real numbers.
bool IsReadByIntegerLayers(const NodeImport& node);
// Integers for real numbers, kept as real numbers.
ImportedValue AddQuantizedReals(NodeImport& node, const ImportedValue& reals,
                                const Quantization& quantization, std::int64_t type);
// The integers as whole numbers, for a value that is kept in either way.
ImportedValue AddWholeNumbers(NodeImport& node, const ImportedValue& value);
// The value as the node's result: as whole numbers unless only layers of integers read it.
ImportedValue ForReaders(NodeImport& node, const ImportedValue& value);

// The scale and zero point of a value, both one constant.
struct ValueQuantization {
  float scale = 1.0F;
  double zero_point = 0;
  std::int64_t type = kOnnxUint8;

  // With the zero point 0, or 128 of u8.
  std::optional<Quantization> Symmetric() const;
};

// From the inputs `scale_input` and the next one. Without a zero point it is 0 of the type
// `otherwise`.
ValueQuantization ValueQuantizationAt(const NodeImport& node, std::size_t scale_input,
                                      std::int64_t otherwise);
// The real numbers of a quantized input, which may be a constant.
NamedValue RealsAt(NodeImport& node, std::size_t input, std::size_t scale_input);
// Quantizes the real numbers, in the way that the readers of the node's first result take.
void ProduceQuantized(NodeImport& node, const ImportedValue& reals, const ValueQuantization& to);

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_ONNX_NODES_INTEGER_LAYERS_H_
