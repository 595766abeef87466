// Relu, Sigmoid, HardSigmoid, Clip, Dropout, Add, Sum, Mul, Concat and the reductions.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>

#include "kernels/activation/clip.h"
#include "kernels/activation/relu.h"
#include "kernels/activation/sigmoid.h"
#include "kernels/bias/bias.h"
#include "kernels/concat/concat.h"
#include "kernels/dropout/dropout.h"
#include "kernels/eltwise/add.h"
#include "kernels/flatten/flatten.h"
#include "kernels/pool/pool.h"
#include "kernels/reduce/reduce.h"
#include "networks/onnx/import/node_import.h"
#include "networks/onnx/nodes/binary_nodes.h"
#include "networks/onnx/nodes/index_nodes.h"
#include "networks/onnx/nodes/slice_nodes.h"

namespace topdnn {

namespace {

// Adds a layer that keeps the shape, including a pending reshape.
template <typename MakeOp>
void ImportElementwise(NodeImport& node, ImportedValue value, MakeOp make) {
  if (value.type == kOnnxFloat) value.most.reset();
  const ValueId source = node.Elements(value);
  value.value = node.AddLayer(make(node.ShapeOf(source)), {source});
  node.Produce(std::move(value));
}

template <typename MakeOp>
void ImportElementwise(NodeImport& node, MakeOp make) {
  ImportElementwise(node, node.SourceAt(0), make);
}

float ScalarAt(const NodeImport& node, std::size_t input, float otherwise) {
  if (!node.Has(input)) return otherwise;
  const ModelTensor& constant = node.ConstantAt(input);
  if (constant.elements() != 1) {
    throw UnsupportedNode(
        fmt::format("its input {} is {}, not a scalar", input, constant.shape.ToString()));
  }
  return static_cast<float>(ValuesOf(constant).front());
}

// Whether the constant has one element per channel, and broadcasts to (N, channels, ...).
bool IsPerChannel(const ModelTensor& constant, const Shape& shape) {
  const int axis = constant.shape.rank() - (shape.rank() - 1);
  return shape.rank() >= 2 && (axis == 0 || axis == 1) && constant.shape[axis] == shape[1] &&
         constant.elements() == shape[1];
}

// An addition of a constant. One element per channel is a bias.
void AddConstant(NodeImport& node, std::size_t constant_input) {
  const ModelTensor& constant = node.ConstantAt(constant_input);
  const std::size_t value_input = 1 - constant_input;
  if (!IsPerChannel(constant, node.SourceAt(value_input).shape)) {
    node.Produce(AddBinary(node, "add", node.SourceAt(value_input), constant));
    return;
  }
  if (const auto norm = node.NormAt(value_input)) {
    const std::vector<double> values = ValuesOf(constant);
    for (std::size_t c = 0; c < values.size(); ++c) norm->shift[c] += static_cast<float>(values[c]);
    node.ProduceNormOf(value_input);
    return;
  }
  const ValueId source = node.Plain(node.SourceAt(value_input));
  const Shape shape = node.ShapeOf(source);
  const ValueId result = node.AddLayer(std::make_shared<BiasOp>(shape), {source});
  node.SetParameter("bias", constant, Shape{shape[1]});
  node.Produce({result, shape});
}

// The largest magnitude of a reduction of `count` integers, if it is known. Throws UnsupportedNode
// when the result may not be exact.
std::optional<double> MostOfReduction(const NodeImport& node, ReduceAlgorithm algorithm,
                                      const ImportedValue& source, std::int64_t count) {
  const std::optional<double> most = MostOf(source);
  if (algorithm == ReduceAlgorithm::kMax || algorithm == ReduceAlgorithm::kMin) return most;
  if (algorithm != ReduceAlgorithm::kSum && algorithm != ReduceAlgorithm::kProduct) {
    throw UnsupportedNode(
        fmt::format("of {}; add a Cast to float before it", NameOfOnnxType(source.type)));
  }
  if (!most) throw UnsupportedNode("of integers of unknown size: f32 may not represent the result");
  const auto terms = static_cast<double>(count);
  const double result =
      algorithm == ReduceAlgorithm::kSum ? *most * terms : std::pow(std::max(*most, 1.0), terms);
  if (result > node.most_exact()) {
    throw UnsupportedNode(fmt::format("its result may reach {:.3g}, which is not exact", result));
  }
  return result;
}

// Gives the result the type of the integers that were reduced.
void ProduceReduced(NodeImport& node, ImportedValue result, ReduceAlgorithm algorithm,
                    const ImportedValue& source) {
  if (source.type != kOnnxFloat) {
    const std::int64_t count =
        source.shape.elements() / std::max<std::int64_t>(result.shape.elements(), 1);
    result.most = MostOfReduction(node, algorithm, source, count);
    result.type = source.type;
  }
  node.Produce(std::move(result));
}

// A reduction over no axes: what is left is the function of each element.
void ImportReduceOfNone(NodeImport& node, ReduceAlgorithm algorithm, const ImportedValue& source) {
  const bool computes = algorithm == ReduceAlgorithm::kL1 || algorithm == ReduceAlgorithm::kL2 ||
                        algorithm == ReduceAlgorithm::kLogSum ||
                        algorithm == ReduceAlgorithm::kLogSumExp ||
                        algorithm == ReduceAlgorithm::kSumSquare;
  if (computes && source.type != kOnnxFloat) {
    static_cast<void>(MostOfReduction(node, algorithm, source, 1));  // may refuse
  }
  switch (algorithm) {
    case ReduceAlgorithm::kL1:
    case ReduceAlgorithm::kL2:
      return node.Produce(AddUnary(node, "abs", source));
    case ReduceAlgorithm::kLogSum:
      return node.Produce(AddUnary(node, "log", source));
    case ReduceAlgorithm::kSumSquare:
      return node.Produce(AddBinary(node, "mul", source, source));
    default:
      return node.Produce(source);
  }
}

void ImportReduce(NodeImport& node, ReduceAlgorithm algorithm, std::size_t axes_input) {
  const ImportedValue source = node.AnySourceAt(0);
  const Shape shape = source.shape;
  std::vector<int> axes = node.Axes(axes_input, "axes", shape.rank());
  if (axes.empty()) {
    if (node.node().Int("noop_with_empty_axes", 0) != 0) {
      ImportReduceOfNone(node, algorithm, source);
      return;
    }
    axes.resize(static_cast<std::size_t>(shape.rank()));
    std::iota(axes.begin(), axes.end(), 0);
  }
  const bool keep = node.node().Int("keepdims", 1) != 0;
  const ValueId value = node.Plain(source);
  const auto reduce = std::make_shared<ReduceOp>(algorithm, shape, axes, keep);
  std::sort(axes.begin(), axes.end());
  if (algorithm == ReduceAlgorithm::kMean && source.type == kOnnxFloat && shape.rank() == 4 &&
      axes == std::vector<int>{2, 3}) {
    // A global average pooling works in any layout.
    const auto extents = PoolExtents::Global(shape[0], shape[1], shape[2], shape[3]);
    const ValueId result =
        node.AddLayer(std::make_shared<PoolOp>(PoolAlgorithm::kAverage, extents), {value});
    node.Produce({result, reduce->dst_shape(), {}, NameOfNode(node.node(), node.index())});
    return;
  }
  if (reduce->dst_shape().rank() == 0) {
    // No layer reads a scalar, so this layer keeps the dimensions. Its one element can be read in
    // any shape.
    const auto kept = std::make_shared<ReduceOp>(algorithm, shape, axes, true);
    ProduceReduced(node, {node.AddLayer(kept, {value}), Shape{}}, algorithm, source);
    return;
  }
  const ValueId result = node.AddLayer(reduce, {value});
  ProduceReduced(node, {result, node.ShapeOf(result)}, algorithm, source);
}

void ImportRelu(NodeImport& node) {
  ImportElementwise(node, [](const Shape& shape) { return std::make_shared<ReluOp>(shape); });
}

void ImportSigmoid(NodeImport& node) {
  ImportElementwise(node, [](const Shape& shape) { return std::make_shared<SigmoidOp>(shape); });
}

void ImportHardSigmoid(NodeImport& node) {
  const float alpha = node.node().Float("alpha", 0.2F);
  const float beta = node.node().Float("beta", 0.5F);
  ImportElementwise(node, [&](const Shape& shape) {
    return std::make_shared<HardSigmoidOp>(shape, alpha, beta);
  });
}

// A Clip with one or two bounds that the network computes.
void ClipByValues(NodeImport& node) {
  ImportedValue result = node.SourceAt(0);
  for (const std::size_t input : {1, 2}) {
    if (!node.Has(input)) continue;
    const char* const function = input == 1 ? "max" : "min";
    if (node.IsConstant(input)) {
      const auto bound = static_cast<double>(ScalarAt(node, input, 0));
      result = AddBinary(node, function, result, ScalarTensor(bound));
      continue;
    }
    ImportedValue bound = node.SourceAt(input);
    if (bound.shape.elements() != 1) {
      throw UnsupportedNode(
          fmt::format("its input {} is {}, not a scalar", input, bound.shape.ToString()));
    }
    bound.shape = Shape{};
    result = AddBinary(node, function, result, bound);
  }
  node.Produce(std::move(result));
}

void ImportClip(NodeImport& node) {
  if ((node.Has(1) && !node.IsConstant(1)) || (node.Has(2) && !node.IsConstant(2))) {
    ClipByValues(node);
    return;
  }
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const bool by_input = node.opset() >= 11;
  const float lowest =
      by_input ? ScalarAt(node, 1, -kInfinity) : node.node().Float("min", -kInfinity);
  const float highest =
      by_input ? ScalarAt(node, 2, kInfinity) : node.node().Float("max", kInfinity);
  ImportedValue value = node.AnySourceAt(0);
  if (!value.steps.empty() && by_input && node.Has(1) && node.Has(2)) {
    value.steps.push_back({IntegerStep::kMax, std::make_shared<ModelTensor>(node.ConstantAt(1))});
    value.steps.push_back({IntegerStep::kMin, std::make_shared<ModelTensor>(node.ConstantAt(2))});
    const auto most = static_cast<double>(std::max(std::abs(lowest), std::abs(highest)));
    if (most <= node.most_exact()) {
      value.most = most;
      node.Produce(AddIntegerSteps(node, value));
      return;
    }
  }
  if (value.type != kOnnxFloat) {
    for (const std::size_t input : {1, 2}) {
      if (!by_input || !node.Has(input)) continue;
      const ModelTensor& bound = node.ConstantAt(input);
      const std::vector<double> values = ValuesOf(bound);
      // (a bound that no element reaches changes nothing)
      if (value.most && values.size() == 1 && std::abs(values[0]) >= *value.most) continue;
      CheckExactInF32(bound.type, values);
    }
    // The result lies between the operand's limits as they are clipped.
    const double least = static_cast<double>(lowest), largest = static_cast<double>(highest);
    const double limit = value.most.value_or(static_cast<double>(kInfinity));
    const double most = std::max(std::abs(std::min(std::max(-limit, least), largest)),
                                 std::abs(std::min(std::max(limit, least), largest)));
    if (std::isfinite(most)) value.most = most;
  }
  ImportElementwise(node, std::move(value), [&](const Shape& shape) -> std::shared_ptr<const Op> {
    if (lowest == 0 && highest == kInfinity) return std::make_shared<ReluOp>(shape);
    if (lowest == 0 && highest > 0) return std::make_shared<ReluOp>(shape, highest);
    return std::make_shared<ClipOp>(shape, lowest, highest);
  });
}

void ImportDropout(NodeImport& node) {
  const bool by_input = node.opset() >= 12;
  const float ratio = by_input ? ScalarAt(node, 1, 0.5F) : node.node().Float("ratio", 0.5F);
  if (by_input && ratio != 0 && ScalarAt(node, 2, 0.0F) != 0) {
    throw UnsupportedNode("training_mode: export the network for inference");
  }
  const auto seed = static_cast<std::uint32_t>(node.node().Int("seed", node.index()));
  ImportElementwise(
      node, [&](const Shape& shape) { return std::make_shared<DropoutOp>(shape, ratio, seed); });
}

// Add and Sum.
void ImportAdd(NodeImport& node) {
  if (ImportedOnIntegers(node, "add")) return;
  if (node.inputs() == 2 && (node.IsConstant(0) || node.IsConstant(1))) {
    AddConstant(node, node.IsConstant(0) ? 0 : 1);
    return;
  }
  std::vector<std::size_t> constants;
  std::vector<ImportedValue> values;
  bool one_shape = true;
  for (std::size_t i = 0; i < node.inputs(); ++i) {
    if (node.IsConstant(i)) {
      constants.push_back(i);
      continue;
    }
    values.push_back(node.SourceAt(i));
    one_shape &= values.back().shape == values.front().shape;
  }
  if (values.empty()) throw UnsupportedNode("it computes on constants alone");
  ImportedValue sum = values.front();
  if (one_shape && values.size() > 1) {
    std::vector<ValueId> sources;
    sources.reserve(values.size());
    for (const ImportedValue& value : values) sources.push_back(node.Plain(value));
    const auto op = std::make_shared<AddOp>(sum.shape, static_cast<int>(sources.size()));
    const ValueId result = node.AddLayer(op, sources);
    sum = {result, node.ShapeOf(result)};
  } else {
    for (std::size_t i = 1; i < values.size(); ++i) sum = AddBinary(node, "add", sum, values[i]);
  }
  for (const std::size_t i : constants) sum = AddBinary(node, "add", sum, node.ConstantAt(i));
  node.Produce(std::move(sum));
}

// A multiplication by a constant with one element per channel is a part of the batch normalization
// before it, if there is one: DenseNet and Inception v2 of Caffe2 have their scales in such nodes.
void ImportMul(NodeImport& node) {
  if (node.inputs() != 2) throw UnsupportedNode("it needs two inputs");
  if (ImportedOnIntegers(node, "mul")) return;
  const std::size_t constant_input = node.IsConstant(0) ? 0 : 1;
  const std::size_t value_input = 1 - constant_input;
  const auto norm = node.NormAt(value_input);
  if (!norm || !node.IsConstant(constant_input) ||
      !IsPerChannel(node.ConstantAt(constant_input), node.SourceAt(value_input).shape)) {
    for (std::size_t i = 0; i < 2; ++i) {
      if (!node.IsConstant(i)) static_cast<void>(node.SourceAt(i));  // throws if it is not of float
    }
    node.Produce(AddBinaryOfInputs(node, "mul", 0, 1));
    return;
  }
  const std::vector<double> factors = ValuesOf(node.ConstantAt(constant_input));
  for (std::size_t c = 0; c < factors.size(); ++c) {
    norm->scale[c] *= static_cast<float>(factors[c]);
    norm->shift[c] *= static_cast<float>(factors[c]);
  }
  node.ProduceNormOf(value_input);
}

// The axes of a slice that pads a part of a concatenation with zeros to its place in the whole.
std::vector<SliceAxis> AxesInWhole(const Shape& part, int axis, std::int64_t start,
                                   std::int64_t whole) {
  std::vector<SliceAxis> axes = WholeAxes(part);
  axes[static_cast<std::size_t>(axis)] = {-start, 1, whole};
  return axes;
}

// Copies the elements of a part to its place in the whole.
void CopyToWhole(const ModelTensor& part, int axis, std::int64_t start, const Shape& whole,
                 std::vector<double>& values) {
  std::int64_t inner = 1;
  for (int d = axis + 1; d < part.shape.rank(); ++d) inner *= part.shape[d];
  const std::vector<double> from = ValuesOf(part);
  const std::int64_t row = part.shape[axis] * inner;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(from.size()); ++i) {
    const std::int64_t at = i / row * whole[axis] * inner + start * inner + i % row;
    values[static_cast<std::size_t>(at)] = from[static_cast<std::size_t>(i)];
  }
}

// A concatenation with constants: the sum of all parts, each padded with zeros to the whole.
void ConcatConstants(NodeImport& node, const std::vector<std::size_t>& parts) {
  std::vector<Shape> shapes;
  shapes.reserve(parts.size());
  for (const std::size_t i : parts) {
    shapes.push_back(node.IsConstant(i) ? node.ConstantAt(i).shape : node.SourceAt(i).shape);
  }
  const int axis = AxisOf(node, shapes.front(), 1);
  const Shape whole = ConcatOp(shapes, axis).dst_shape();
  node.ReserveMemory(whole, DataType::kF64);
  std::vector<double> constant(static_cast<std::size_t>(whole.elements()), 0.0);
  std::optional<ImportedValue> sum;
  std::int64_t start = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (node.IsConstant(parts[i])) {
      CopyToWhole(node.ConstantAt(parts[i]), axis, start, whole, constant);
    } else {
      const ImportedValue part =
          AddSlice(node, node.SourceAt(parts[i]), AxesInWhole(shapes[i], axis, start, whole[axis]),
                   SliceBorder::kFill, 0);
      sum = sum ? AddBinary(node, "add", *sum, part) : part;
    }
    start += shapes[i][axis];
  }
  if (!sum) throw UnsupportedNode("it computes on constants alone");
  node.Produce(
      AddBinary(node, "add", *sum, MakeTensor(whole, DataType::kF32, std::move(constant))));
}

// Tensors without elements, which exporters write for empty lists of axes, add nothing.
void ImportConcat(NodeImport& node) {
  std::vector<std::size_t> parts;
  std::vector<Shape> given;
  bool constants = false;
  for (std::size_t i = 0; i < node.inputs(); ++i) {
    given.push_back(node.IsConstant(i) ? node.ConstantAt(i).shape : node.AnySourceAt(i).shape);
    if (given.back().elements() == 0) continue;
    parts.push_back(i);
    constants |= node.IsConstant(i);
  }
  if (parts.empty()) {
    if (node.inputs() == 0) throw UnsupportedNode("no inputs");
    ImportedValue value = node.AnySourceAt(0);
    const int axis = AxisOf(node, value.shape, 1);
    std::vector<std::int64_t> extents = value.shape.extents();
    for (std::size_t i = 1; i < given.size(); ++i) {
      if (given[i].rank() == value.shape.rank()) {
        extents[static_cast<std::size_t>(axis)] += given[i][axis];
      }
    }
    value.shape = Shape(std::move(extents));
    node.Produce(std::move(value));
    return;
  }
  if (parts.size() == 1 && !constants) {
    ImportedValue value = node.AnySourceAt(parts.front());
    const ValueId source = node.Elements(value);
    if (node.graph().IsInput(source)) {  // a copy, because an input is no result
      value.value =
          node.AddLayer(std::make_shared<FlattenOp>(node.ShapeOf(source), value.shape), {source});
    }
    node.Produce(std::move(value));
    return;
  }
  if (constants) {
    ConcatConstants(node, parts);
    return;
  }
  std::vector<ValueId> sources;
  std::vector<Shape> shapes;
  for (const std::size_t i : parts) {
    sources.push_back(node.Plain(node.AnySourceAt(i)));
    shapes.push_back(node.ShapeOf(sources.back()));
  }
  const auto op = std::make_shared<ConcatOp>(shapes, AxisOf(node, shapes.front(), 1));
  const ValueId result = node.AddLayer(op, sources);
  node.Produce({result, node.ShapeOf(result), {}, {}, node.AnySourceAt(parts.front()).type});
}

// Since opset 18 the axes are an input; those of ReduceSum since 13.
template <ReduceAlgorithm kAlgorithm>
void ImportReduction(NodeImport& node) {
  const bool by_input = kAlgorithm == ReduceAlgorithm::kSum || node.opset() >= 18;
  ImportReduce(node, kAlgorithm, by_input ? 1 : node.inputs());
}

const NodeRegistration kAdd("Add", ImportAdd);
const NodeRegistration kClip("Clip", ImportClip);
const NodeRegistration kConcat("Concat", ImportConcat);
const NodeRegistration kDropout("Dropout", ImportDropout);
const NodeRegistration kHardSigmoid("HardSigmoid", ImportHardSigmoid);
const NodeRegistration kMul("Mul", ImportMul);
const NodeRegistration kReduceL1("ReduceL1", ImportReduction<ReduceAlgorithm::kL1>);
const NodeRegistration kReduceL2("ReduceL2", ImportReduction<ReduceAlgorithm::kL2>);
const NodeRegistration kReduceLogSum("ReduceLogSum", ImportReduction<ReduceAlgorithm::kLogSum>);
const NodeRegistration kReduceLogSumExp("ReduceLogSumExp",
                                        ImportReduction<ReduceAlgorithm::kLogSumExp>);
const NodeRegistration kReduceMax("ReduceMax", ImportReduction<ReduceAlgorithm::kMax>);
const NodeRegistration kReduceMean("ReduceMean", ImportReduction<ReduceAlgorithm::kMean>);
const NodeRegistration kReduceMin("ReduceMin", ImportReduction<ReduceAlgorithm::kMin>);
const NodeRegistration kReduceProd("ReduceProd", ImportReduction<ReduceAlgorithm::kProduct>);
const NodeRegistration kReduceSum("ReduceSum", ImportReduction<ReduceAlgorithm::kSum>);
const NodeRegistration kReduceSumSquare("ReduceSumSquare",
                                        ImportReduction<ReduceAlgorithm::kSumSquare>);
const NodeRegistration kReluNode("Relu", ImportRelu);
const NodeRegistration kSigmoid("Sigmoid", ImportSigmoid);
const NodeRegistration kSum("Sum", ImportAdd);

}  // namespace

}  // namespace topdnn
