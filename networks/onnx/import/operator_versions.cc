#include "networks/onnx/import/operator_versions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace topdnn {

namespace {

bool IsAligned(std::string_view op_type) {
  constexpr std::string_view kOperations[] = {"Add", "And", "Div", "Equal", "Greater", "Less",
                                              "Mul", "Or",  "Pow", "PRelu", "Sub",     "Xor"};
  return std::find(std::begin(kOperations), std::end(kOperations), op_type) !=
         std::end(kOperations);
}

// Of two shapes, the second with extents of 1 behind it, so that it begins at the axis of the
// first.
Shape Aligned(const ModelNode& node, const Shape& first, const Shape& second) {
  const bool per_channel = node.op_type == "PRelu";
  if (!node.Has("axis") && !per_channel) return second;
  std::int64_t axis = node.Int("axis", 1);
  if (axis < 0) axis += first.rank();
  if (second.elements() == 1 || second == first) return second;
  if (axis < 0 || axis + second.rank() > first.rank()) {
    throw UnsupportedNode(fmt::format("axis {} for operands of {} and {}", axis, first.ToString(),
                                      second.ToString()));
  }
  std::vector<std::int64_t> extents = second.extents();
  extents.resize(static_cast<std::size_t>(first.rank() - axis), 1);
  return Shape(std::move(extents));
}

void ImportAligned(NodeImport& node) {
  const auto shape_at = [&](std::size_t i) {
    return node.IsConstant(i) ? node.ConstantAt(i).shape : node.AnySourceAt(i).shape;
  };
  if (node.inputs() != 2) throw UnsupportedNode("it needs two inputs");
  const Shape shape = Aligned(node.node(), shape_at(0), shape_at(1));
  std::vector<NamedValue> operands;
  for (std::size_t i = 0; i < 2; ++i) {
    if (node.IsConstant(i)) {
      ModelTensor constant = node.ConstantAt(i);
      if (i == 1) constant.shape = shape;
      operands.emplace_back(std::make_shared<ModelTensor>(std::move(constant)));
    } else {
      ImportedValue value = node.AnySourceAt(i);
      if (i == 1) value.shape = shape;
      operands.emplace_back(std::move(value));
    }
  }
  node.Produce(node.ImportAs(node.node().op_type, std::move(operands)));
}

}  // namespace

// Opsets 24 and 25 changed operations, such as Cast, Reshape, Pad and TopK, in their element types
// alone.
void CheckVersion(const ModelNode& node) {
  constexpr std::int64_t kWithScales = 7;
  if (node.op_type != "Upsample" || node.opset >= kWithScales) return;
  throw UnsupportedNode(
      fmt::format("as opset {} defines it; topdnn knows its definition from opset {}", node.opset,
                  kWithScales));
}

const NodeTranslator* FindTranslator(const ModelNode& node) {
  constexpr std::int64_t kBroadcastsAsNumPy = 7;
  static constexpr NodeTranslator kAligned = ImportAligned;
  if (node.opset < kBroadcastsAsNumPy && IsAligned(node.op_type)) return &kAligned;
  return FindTranslator(node.op_type);
}

}  // namespace topdnn
