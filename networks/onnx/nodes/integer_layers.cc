#include "networks/onnx/nodes/integer_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/activation/clip.h"
#include "networks/onnx/nodes/binary_nodes.h"

namespace topdnn {

namespace {

constexpr double kMiddle = 128;  // of u8

// The zero point of a quantized value: 128 for uint8 that is kept in the quantization of s8,
// otherwise 0.
double ZeroPointOf(const ImportedValue& value) {
  return value.type == kOnnxUint8 && value.quantized->type == DataType::kS8 ? kMiddle : 0;
}

bool IsZero(const IntegerOperand& operand) {
  const auto* constant = std::get_if<ModelTensor>(&operand);
  if (constant == nullptr) return false;
  const std::vector<double> values = ValuesOf(*constant);
  return std::all_of(values.begin(), values.end(), [](double value) { return value == 0; });
}

}  // namespace

ImportedValue AddBinaryOf(NodeImport& node, std::string_view function, const ImportedValue& value,
                          const IntegerOperand& operand) {
  return std::visit([&](const auto& other) { return AddBinary(node, function, value, other); },
                    operand);
}

ImportedValue AddIntegers(NodeImport& node, const ImportedValue& reals,
                          const std::optional<IntegerOperand>& scale,
                          const std::optional<IntegerOperand>& zero_point, std::int64_t type) {
  if (type != kOnnxUint8 && type != kOnnxInt8) {
    throw UnsupportedNode(fmt::format("a quantization to {}", NameOfOnnxType(type)));
  }
  ImportedValue value = scale ? AddBinaryOf(node, "div", reals, *scale) : reals;
  value = AddUnary(node, "round", value);
  if (zero_point && !IsZero(*zero_point)) value = AddBinaryOf(node, "add", value, *zero_point);
  const float lowest = type == kOnnxUint8 ? 0.0F : -128.0F;
  const float highest = type == kOnnxUint8 ? 255.0F : 127.0F;
  const ValueId source = node.Elements(value);
  value.value =
      node.AddLayer(std::make_shared<ClipOp>(node.ShapeOf(source), lowest, highest), {source});
  value.type = type;
  return value;
}

ImportedValue AddReals(NodeImport& node, const ImportedValue& integers, const IntegerOperand& scale,
                       const std::optional<IntegerOperand>& zero_point) {
  ImportedValue value = integers;
  if (zero_point && !IsZero(*zero_point)) value = AddBinaryOf(node, "sub", value, *zero_point);
  value = AddBinaryOf(node, "mul", value, scale);
  value.type = kOnnxFloat;
  return value;
}

bool IsReadByIntegerLayers(const NodeImport& node) {
  return node.IsReadOnlyBy(
      {"DequantizeLinear", "Flatten", "MaxPool", "QLinearConv", "Reshape", "Squeeze", "Transpose",
       "Unsqueeze", "com.microsoft::QGemm", "com.microsoft::QLinearAdd",
       "com.microsoft::QLinearAveragePool", "com.microsoft::QLinearConcat",
       "com.microsoft::QLinearGlobalAveragePool", "com.microsoft::QLinearLeakyRelu",
       "com.microsoft::QLinearMul", "com.microsoft::QLinearSigmoid"});
}

ImportedValue AddQuantizedReals(NodeImport& node, const ImportedValue& reals,
                                const Quantization& quantization, std::int64_t type) {
  ImportedValue value = reals;
  for (const auto step : {QuantizeOp::Step::kQuantize, QuantizeOp::Step::kDequantize}) {
    const ValueId source = node.Elements(value);
    value.value = node.AddLayer(
        std::make_shared<QuantizeOp>(step, node.ShapeOf(source), quantization), {source});
  }
  value.type = type;
  value.quantized = quantization;
  return value;
}

ImportedValue AddWholeNumbers(NodeImport& node, const ImportedValue& value) {
  if (!value.quantized) return value;
  const double zero_point = ZeroPointOf(value);
  // The real number is the integer times the scale, rounded, so the quotient rounds to the integer.
  ImportedValue whole = AddUnary(
      node, "round",
      AddBinary(node, "div", value, ScalarTensor(static_cast<double>(value.quantized->scale))));
  if (zero_point != 0) whole = AddBinary(node, "add", whole, ScalarTensor(zero_point));
  whole.type = value.type;
  whole.quantized.reset();
  return whole;
}

ImportedValue ForReaders(NodeImport& node, const ImportedValue& value) {
  return IsReadByIntegerLayers(node) ? value : AddWholeNumbers(node, value);
}

std::optional<Quantization> ValueQuantization::Symmetric() const {
  const DataType stored = type == kOnnxUint8 ? DataType::kU8 : DataType::kS8;
  if (zero_point == 0) return Quantization{stored, scale};
  if (zero_point == kMiddle && type == kOnnxUint8) return Quantization{DataType::kS8, scale};
  return std::nullopt;
}

ValueQuantization ValueQuantizationAt(const NodeImport& node, std::size_t scale_input,
                                      std::int64_t otherwise) {
  const ModelTensor& scale = node.ConstantAt(scale_input);
  const std::size_t zero_input = scale_input + 1;
  const bool has_zero = node.Has(zero_input);
  if (scale.elements() != 1 || (has_zero && node.ConstantAt(zero_input).elements() != 1)) {
    throw UnsupportedNode("several scales or zero points of a value");
  }
  ValueQuantization result{static_cast<float>(ValuesOf(scale).front()), 0, otherwise};
  if (!(result.scale > 0) || !std::isfinite(result.scale)) {
    throw UnsupportedNode("a scale that is not above 0 and finite");
  }
  if (!has_zero) return result;
  const ModelTensor& zero = node.ConstantAt(zero_input);
  if (zero.type != DataType::kU8 && zero.type != DataType::kS8) {
    throw UnsupportedNode(fmt::format("a zero point of {}", NameOf(zero.type)));
  }
  result.zero_point = ValuesOf(zero).front();
  result.type = zero.type == DataType::kU8 ? kOnnxUint8 : kOnnxInt8;
  return result;
}

NamedValue RealsAt(NodeImport& node, std::size_t input, std::size_t scale_input) {
  if (node.IsConstant(input)) {
    const ModelTensor& integers = node.ConstantAt(input);
    const ValueQuantization of = ValueQuantizationAt(node, scale_input, OnnxTypeOf(integers));
    node.ReserveMemory(integers.shape, DataType::kF64);
    std::vector<double> reals = ValuesOf(integers);
    for (double& x : reals) x = (x - of.zero_point) * static_cast<double>(of.scale);
    return std::make_shared<ModelTensor>(
        MakeTensor(integers.shape, DataType::kF32, std::move(reals)));
  }
  ImportedValue value = node.QuantizedSourceAt(input);
  if (value.type != kOnnxUint8 && value.type != kOnnxInt8) {
    throw UnsupportedNode(fmt::format("its input {} is of {}", input, NameOfOnnxType(value.type)));
  }
  const ValueQuantization of = ValueQuantizationAt(node, scale_input, value.type);
  if (value.quantized && value.quantized == of.Symmetric()) {
    value.type = kOnnxFloat;
    value.quantized.reset();
    return value;
  }
  return AddReals(node, AddWholeNumbers(node, value), ScalarTensor(static_cast<double>(of.scale)),
                  ScalarTensor(of.zero_point));
}

void ProduceQuantized(NodeImport& node, const ImportedValue& reals, const ValueQuantization& to) {
  const std::optional<Quantization> symmetric = to.Symmetric();
  if (symmetric && IsReadByIntegerLayers(node)) {
    node.Produce(AddQuantizedReals(node, reals, *symmetric, to.type));
    return;
  }
  node.Produce(AddIntegers(node, reals, ScalarTensor(static_cast<double>(to.scale)),
                           ScalarTensor(to.zero_point), to.type));
}

}  // namespace topdnn
