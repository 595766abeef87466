// QuantizeLinear and DequantizeLinear, of values and of constants.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/quantization/quantize.h"
#include "networks/onnx/import/node_import.h"
#include "networks/onnx/nodes/integer_layers.h"

namespace topdnn {

namespace {

// The scales of a node, and how many consecutive elements of its tensor have one scale.
struct ImportedScales {
  std::vector<double> scales;
  std::int64_t run = 0;
  bool by_first_index = false;  // or one for all

  double At(std::int64_t element) const {
    const auto count = static_cast<std::int64_t>(scales.size());
    return scales[static_cast<std::size_t>(element / run % count)];
  }
};

ImportedScales ScalesAt(const NodeImport& node, const Shape& shape) {
  if (node.node().Int("block_size", 0) != 0) throw UnsupportedNode("scales of blocks");
  const ModelTensor& scale = node.ConstantAt(1);
  ImportedScales scales{ValuesOf(scale), std::max<std::int64_t>(shape.elements(), 1), true};
  const bool valid = std::all_of(scales.scales.begin(), scales.scales.end(),
                                 [](double value) { return value > 0 && std::isfinite(value); });
  if (scales.scales.empty() || !valid) {
    throw UnsupportedNode("a scale that is not above 0 and finite");
  }
  if (scales.scales.size() == 1) return scales;
  std::int64_t axis = node.node().Int("axis", 1);
  if (axis < 0) axis += shape.rank();
  if (axis < 0 || axis >= shape.rank() || shape[static_cast<int>(axis)] != scale.elements()) {
    throw UnsupportedNode(fmt::format("{} scales of a tensor of {} on axis {}", scale.elements(),
                                      shape.ToString(), node.node().Int("axis", 1)));
  }
  scales.run = 1;
  for (int d = static_cast<int>(axis) + 1; d < shape.rank(); ++d) scales.run *= shape[d];
  scales.by_first_index = axis == 0;
  return scales;
}

// The zero points, one for each scale or one for all; 0 without the input.
std::vector<double> ZeroPointsAt(const NodeImport& node, std::size_t count) {
  if (!node.Has(2)) return std::vector<double>(count, 0.0);
  std::vector<double> values = ValuesOf(node.ConstantAt(2));
  if (values.size() == 1) values.assign(count, values.front());
  if (values.size() != count) {
    throw UnsupportedNode(fmt::format("{} zero points for {} scales", values.size(), count));
  }
  return values;
}

// The type of the zero point. Without one: QuantizeLinear's output_dtype, or that of the integers.
DataType IntegerTypeOf(const NodeImport& node) {
  if (!node.Has(2)) {
    const std::int64_t type = node.node().op_type == "QuantizeLinear"
                                  ? node.node().Int("output_dtype", 0)
                                  : node.QuantizedSourceAt(0).type;
    if (type == kOnnxInt8) return DataType::kS8;
    if (type == 0 || type == kOnnxUint8 || type == kOnnxFloat) return DataType::kU8;
    throw UnsupportedNode(
        fmt::format("integers of {}: only int8 and uint8 are supported", NameOfOnnxType(type)));
  }
  const DataType type = node.ConstantAt(2).type;
  if (type != DataType::kU8 && type != DataType::kS8) {
    throw UnsupportedNode(
        fmt::format("a zero point of {}: only s8 and u8 are supported", NameOf(type)));
  }
  return type;
}

// The quantization of a value of the network. Integers of u8 around the zero point 128 are those of
// s8 around 0.
Quantization QuantizationAt(const NodeImport& node, const Shape& shape) {
  const ImportedScales scales = ScalesAt(node, shape);
  if (scales.scales.size() != 1) {
    throw UnsupportedNode("scales by channel of a value: only constants may have several");
  }
  const DataType type = IntegerTypeOf(node);
  const double zero_point = ZeroPointsAt(node, 1).front();
  const auto scale = static_cast<float>(scales.scales.front());
  constexpr double kMiddleOfU8 = 128;
  if (type == DataType::kU8 && zero_point == kMiddleOfU8) return {DataType::kS8, scale};
  if (zero_point != 0) {
    throw UnsupportedNode(
        fmt::format("the zero point {}: only 0, and 128 of u8, are supported; quantize the "
                    "model symmetrically",
                    zero_point));
  }
  return {type, scale};
}

void ImportStep(NodeImport& node, QuantizeOp::Step step) {
  ImportedValue value = node.SourceAt(0);
  const Quantization quantization = QuantizationAt(node, value.shape);
  const ValueId source = node.Elements(value);
  value.value = node.AddLayer(
      std::make_shared<QuantizeOp>(step, node.ShapeOf(source), quantization), {source});
  node.Produce(std::move(value));
}

// Whether the scale is one constant, and the zero point one that QuantizationAt supports.
bool IsSymmetric(const NodeImport& node) {
  if (!node.IsConstant(1) || (node.Has(2) && !node.IsConstant(2))) return false;
  if (node.ConstantAt(1).elements() != 1) return false;
  const double zero_point = ZeroPointsAt(node, 1).front();
  return zero_point == 0 || (zero_point == 128 && IntegerTypeOf(node) == DataType::kU8);
}

// The scale or zero point of a node, along the axis of a value of this shape.
IntegerOperand OperandAt(const NodeImport& node, std::size_t input, const Shape& shape) {
  const auto along = [&](const Shape& own) {
    if (own.elements() == 1) return Shape{};
    const std::int64_t axis = node.node().Int("axis", 1);
    const std::int64_t d = axis < 0 ? axis + shape.rank() : axis;
    if (d < 0 || d >= shape.rank() || own.rank() != 1 ||
        own.elements() != shape[static_cast<int>(d)]) {
      throw UnsupportedNode(
          fmt::format("scales of {} on axis {} of {}", own.ToString(), axis, shape.ToString()));
    }
    std::vector<std::int64_t> extents(static_cast<std::size_t>(shape.rank() - d), 1);
    extents.front() = own.elements();
    return Shape(std::move(extents));
  };
  if (node.IsConstant(input)) {
    ModelTensor constant = node.ConstantAt(input);
    constant.shape = along(constant.shape);
    return constant;
  }
  ImportedValue value = node.AnySourceAt(input);
  value.shape = along(value.shape);
  return value;
}

// If only DequantizeLinear reads the result, the layer is a QuantizeOp. If only integer layers read
// it, the integers are kept as real numbers. Otherwise they are whole numbers in f32.
void ImportQuantize(NodeImport& node) {
  // (such a layer does not tell a DequantizeLinear without a zero point which type the integers
  // have)
  const bool tells_type = node.Has(2) || IntegerTypeOf(node) == DataType::kU8;
  if (tells_type && IsSymmetric(node) && node.IsReadOnlyBy({"DequantizeLinear"})) {
    ImportStep(node, QuantizeOp::Step::kQuantize);
    return;
  }
  const ImportedValue value = node.SourceAt(0);
  if (node.IsConstant(1)) static_cast<void>(ScalesAt(node, value.shape));  // checks them
  if (IsSymmetric(node) && IsReadByIntegerLayers(node)) {
    const std::int64_t type = IntegerTypeOf(node) == DataType::kU8 ? kOnnxUint8 : kOnnxInt8;
    node.Produce(AddQuantizedReals(node, value, QuantizationAt(node, value.shape), type));
    return;
  }
  std::optional<IntegerOperand> zero_point;
  if (node.Has(2)) zero_point = OperandAt(node, 2, value.shape);
  const std::int64_t type = node.Has(2) && !node.IsConstant(2)     ? node.AnySourceAt(2).type
                            : IntegerTypeOf(node) == DataType::kU8 ? kOnnxUint8
                                                                   : kOnnxInt8;
  node.Produce(AddIntegers(node, value, OperandAt(node, 1, value.shape), zero_point, type));
}

void ImportDequantize(NodeImport& node) {
  ImportedValue value = node.QuantizedSourceAt(0);
  if (value.quantized) {
    if (!(QuantizationAt(node, value.shape) == *value.quantized)) {
      throw UnsupportedNode("its scale or zero point is not that of its input");
    }
    value.type = kOnnxFloat;
    value.quantized.reset();
    node.Produce(std::move(value));
    return;
  }
  if (value.type == kOnnxFloat) {
    ImportStep(node, QuantizeOp::Step::kDequantize);
    return;
  }
  if (node.IsConstant(1)) static_cast<void>(ScalesAt(node, value.shape));  // checks them
  std::optional<IntegerOperand> zero_point;
  if (node.Has(2)) zero_point = OperandAt(node, 2, value.shape);
  node.Produce(AddReals(node, value, OperandAt(node, 1, value.shape), zero_point));
}

void FoldDequantize(NodeImport& node) {
  const ModelTensor& constant = node.ConstantAt(0);
  if (UnitRoundoff(constant.type) != 0) throw UnsupportedNode("a constant that is not of integers");
  const ImportedScales scales = ScalesAt(node, constant.shape);
  const std::vector<double> zero_points = ZeroPointsAt(node, scales.scales.size());
  node.ReserveMemory(constant.shape, DataType::kF64);
  std::vector<double> values = ValuesOf(constant);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto element = static_cast<std::int64_t>(i);
    const auto count = static_cast<std::int64_t>(zero_points.size());
    const double zero = zero_points[static_cast<std::size_t>(element / scales.run % count)];
    values[i] = (values[i] - zero) * scales.At(element);
  }
  ModelTensor real = MakeTensor(constant.shape, DataType::kF32, std::move(values));
  if (scales.by_first_index) real.scales.assign(scales.scales.begin(), scales.scales.end());
  real.computed_by = Describe(node.node(), node.index());
  node.Produce(std::move(real));
}

const NodeRegistration kQuantize("QuantizeLinear", ImportQuantize);
const NodeRegistration kDequantize("DequantizeLinear", ImportDequantize);
const ConstantNodeRegistration kFoldDequantize("DequantizeLinear", FoldDequantize);

}  // namespace

}  // namespace topdnn
