// Normalizations and LogSoftmax, composed of reductions and element-wise layers.

#include "networks/onnx/nodes/composed_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "networks/onnx/import/node_import.h"
#include "networks/onnx/nodes/binary_nodes.h"
#include "networks/onnx/nodes/index_nodes.h"

namespace topdnn {

ImportedValue AddReduction(NodeImport& node, ReduceAlgorithm algorithm, const ImportedValue& value,
                           const std::vector<int>& axes) {
  const ValueId source = node.Plain(value);
  const auto op = std::make_shared<ReduceOp>(algorithm, node.ShapeOf(source), axes);
  return {node.AddLayer(op, {source}), op->dst_shape()};
}

// Subtracts the maximum first, because large values would lose digits otherwise.
ImportedValue AddLogSoftmax(NodeImport& node, const ImportedValue& value, int axis) {
  const ImportedValue shifted =
      AddBinary(node, "sub", value, AddReduction(node, ReduceAlgorithm::kMax, value, {axis}));
  return AddBinary(node, "sub", shifted,
                   AddReduction(node, ReduceAlgorithm::kLogSumExp, shifted, {axis}));
}

namespace {

std::vector<int> AxesFrom(int first, const Shape& shape) {
  std::vector<int> axes(static_cast<std::size_t>(std::max(shape.rank() - first, 0)));
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

void ImportLogSoftmax(NodeImport& node) {
  ImportedValue value = node.SourceAt(0);
  const Shape shape = value.shape;
  const int axis = SoftmaxAxisOf(node, value);
  ImportedValue result = AddLogSoftmax(node, value, axis);
  result.shape = shape;
  node.Produce(std::move(result));
}

// value - mean.
ImportedValue AddCentred(NodeImport& node, const ImportedValue& value,
                         const std::vector<int>& axes) {
  return AddBinary(node, "sub", value, AddReduction(node, ReduceAlgorithm::kMean, value, axes));
}

ImportedValue AddVariance(NodeImport& node, const ImportedValue& centred,
                          const std::vector<int>& axes) {
  return AddReduction(node, ReduceAlgorithm::kMean, AddUnary(node, "square", centred), axes);
}

struct Deviation {
  ImportedValue centred, deviation;  // value - mean, and sqrt(variance + epsilon)
};

Deviation AddDeviation(NodeImport& node, const ImportedValue& value, const std::vector<int>& axes,
                       double epsilon) {
  const ImportedValue centred = AddCentred(node, value, axes);
  ImportedValue variance = AddVariance(node, centred, axes);
  if (epsilon != 0) variance = AddBinary(node, "add", variance, ScalarTensor(epsilon));
  return {centred, AddUnary(node, "sqrt", variance)};
}

// (value - mean) / sqrt(variance + epsilon) over the axes.
ImportedValue AddNormalization(NodeImport& node, const ImportedValue& value,
                               const std::vector<int>& axes, double epsilon) {
  const Deviation parts = AddDeviation(node, value, axes, epsilon);
  return AddBinary(node, "div", parts.centred, parts.deviation);
}

// The second result is the mean, and the third one the reciprocal deviation.
void ImportLayerNormalization(NodeImport& node) {
  const ImportedValue value = node.SourceAt(0);
  const std::vector<int> axes = AxesFrom(AxisOf(node, value.shape, -1), value.shape);
  const auto epsilon = static_cast<double>(node.node().Float("epsilon", 1e-5F));
  const std::size_t outputs = node.node().outputs.size();
  if (outputs > 1 && node.IsRead(1)) {
    node.Produce(AddReduction(node, ReduceAlgorithm::kMean, value, axes), 1);
  }
  if (outputs > 2 && node.IsRead(2)) {
    node.Produce(AddUnary(node, "reciprocal", AddDeviation(node, value, axes, epsilon).deviation),
                 2);
  }
  if (!node.IsRead(0)) return;
  ImportedValue result = AddNormalization(node, value, axes, epsilon);
  result = AddBinary(node, "mul", result, node.ConstantAt(1));
  if (node.Has(2)) result = AddBinary(node, "add", result, node.ConstantAt(2));
  node.Produce(std::move(result));
}

// A constant with one element per channel of (N, C, ...).
ModelTensor PerChannel(const ModelTensor& constant, const Shape& shape) {
  if (shape.rank() < 3 || constant.elements() != shape[1]) {
    throw UnsupportedNode(fmt::format("a constant of {} for the channels of {}",
                                      constant.shape.ToString(), shape.ToString()));
  }
  std::vector<std::int64_t> extents(static_cast<std::size_t>(shape.rank()) - 1, 1);
  extents.front() = shape[1];
  ModelTensor tensor = constant;
  tensor.shape = Shape(std::move(extents));
  return tensor;
}

void ImportInstanceNormalization(NodeImport& node) {
  const ImportedValue value = node.SourceAt(0);
  const ModelTensor scale = PerChannel(node.ConstantAt(1), value.shape);
  const ModelTensor shift = PerChannel(node.ConstantAt(2), value.shape);
  const auto epsilon = static_cast<double>(node.node().Float("epsilon", 1e-5F));
  ImportedValue result = AddNormalization(node, value, AxesFrom(2, value.shape), epsilon);
  result = AddBinary(node, "mul", result, scale);
  node.Produce(AddBinary(node, "add", result, shift));
}

// ONNX adds 1e-9 to the deviation. Here its square is added to the variance, which gives a constant
// row the same result, 0, and others the same in f32.
void ImportMeanVarianceNormalization(NodeImport& node) {
  const ImportedValue value = node.SourceAt(0);
  std::vector<int> axes = node.Axes(node.inputs(), "axes", value.shape.rank());
  if (axes.empty() && value.shape.rank() == 4) axes = {0, 2, 3};
  node.Produce(AddNormalization(node, value, axes, 1e-18));
}

// The channels are in groups, which are normalized like the channels of an instance normalization.
// Before opset 21 the scale and shift have one element for each group.
void ImportGroupNormalization(NodeImport& node) {
  ImportedValue value = node.SourceAt(0);
  const Shape shape = value.shape;
  RequireElements(shape);
  const std::int64_t groups = node.node().Int("num_groups", 0);
  if (shape.rank() < 2 || groups < 1 || groups > shape[1] || shape[1] % groups != 0) {
    throw UnsupportedNode(fmt::format("{} groups of {}", groups, shape.ToString()));
  }
  value.shape = Shape{shape[0], groups, shape.elements() / shape[0] / groups};
  const auto epsilon = static_cast<double>(node.node().Float("epsilon", 1e-5F));
  ImportedValue result = AddNormalization(node, value, {2}, epsilon);
  const std::int64_t rows = node.opset() < 21 ? groups : shape[1];
  result.shape = Shape{shape[0], rows, shape.elements() / shape[0] / rows};
  result = AddBinary(node, "mul", result, PerChannel(node.ConstantAt(1), result.shape));
  result = AddBinary(node, "add", result, PerChannel(node.ConstantAt(2), result.shape));
  result.shape = shape;
  node.Produce(std::move(result));
}

// ONNX defines the result of a row whose norm is 0 as 0. Such a row is divided by 1.
void ImportLpNormalization(NodeImport& node) {
  const ImportedValue value = node.SourceAt(0);
  const std::int64_t p = node.node().Int("p", 2);
  if (p != 1 && p != 2) throw UnsupportedNode(fmt::format("p {}", p));
  const ImportedValue norm =
      AddReduction(node, p == 1 ? ReduceAlgorithm::kL1 : ReduceAlgorithm::kL2, value,
                   {AxisOf(node, value.shape, -1)});
  const ImportedValue is_zero = AddBinary(node, "equal", norm, ScalarTensor(0));
  node.Produce(AddBinary(node, "div", value, AddBinary(node, "add", norm, is_zero)));
}

// momentum * average + (1 - momentum) * statistic.
ImportedValue AddMovingAverage(NodeImport& node, std::size_t average_input,
                               ImportedValue statistic) {
  const auto momentum = static_cast<double>(node.node().Float("momentum", 0.9F));
  const ModelTensor& average = node.ConstantAt(average_input);
  statistic.shape = average.shape;
  std::vector<double> kept = ValuesOf(average);
  for (double& value : kept) value *= momentum;
  return AddBinary(node, "add", AddBinary(node, "mul", statistic, ScalarTensor(1 - momentum)),
                   MakeTensor(average.shape, DataType::kF32, std::move(kept)));
}

const NodeRegistration kGroupNormalization("GroupNormalization", ImportGroupNormalization);
const NodeRegistration kInstanceNormalization("InstanceNormalization", ImportInstanceNormalization);
const NodeRegistration kLayerNormalization("LayerNormalization", ImportLayerNormalization);
const NodeRegistration kLogSoftmax("LogSoftmax", ImportLogSoftmax);
const NodeRegistration kLpNormalization("LpNormalization", ImportLpNormalization);
const NodeRegistration kMeanVarianceNormalization("MeanVarianceNormalization",
                                                  ImportMeanVarianceNormalization);

}  // namespace

void ImportNormalizationOfBatch(NodeImport& node) {
  const ImportedValue value = node.SourceAt(0);
  const Shape& shape = value.shape;
  if (shape.rank() < 3 || node.ConstantAt(3).elements() != shape[1] ||
      node.ConstantAt(4).elements() != shape[1]) {
    throw UnsupportedNode(fmt::format("training_mode on {}", shape.ToString()));
  }
  std::vector<int> axes = AxesFrom(1, shape);
  axes.front() = 0;
  const auto epsilon = static_cast<double>(node.node().Float("epsilon", 1e-5F));
  const std::size_t outputs = node.node().outputs.size();
  if (outputs > 1 && node.IsRead(1)) {
    node.Produce(AddMovingAverage(node, 3, AddReduction(node, ReduceAlgorithm::kMean, value, axes)),
                 1);
  }
  if (outputs > 2 && node.IsRead(2)) {
    node.Produce(AddMovingAverage(node, 4, AddVariance(node, AddCentred(node, value, axes), axes)),
                 2);
  }
  if (!node.IsRead(0)) return;
  ImportedValue result = AddNormalization(node, value, axes, epsilon);
  result = AddBinary(node, "mul", result, PerChannel(node.ConstantAt(1), shape));
  node.Produce(AddBinary(node, "add", result, PerChannel(node.ConstantAt(2), shape)));
}

}  // namespace topdnn
