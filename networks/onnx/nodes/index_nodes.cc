// ArgMax, ArgMin, TopK, Hardmax, OneHot, Gather, GatherElements and GatherND.

#include "networks/onnx/nodes/index_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "kernels/gather/gather.h"
#include "kernels/topk/topk.h"
#include "networks/onnx/nodes/binary_nodes.h"
#include "networks/onnx/nodes/slice_nodes.h"

namespace topdnn {

int AxisIn(const Shape& shape, std::int64_t axis) {
  if (axis < -shape.rank() || axis >= shape.rank()) {
    throw UnsupportedNode(fmt::format("axis {} of {}", axis, shape.ToString()));
  }
  return static_cast<int>(axis < 0 ? axis + shape.rank() : axis);
}

void RequireElements(const Shape& shape) {
  if (shape.elements() == 0) {
    throw UnsupportedNode(fmt::format("a tensor without elements, {}", shape.ToString()));
  }
}

int AxisOf(const NodeImport& node, const Shape& shape, std::int64_t otherwise) {
  return AxisIn(shape, node.node().Int("axis", otherwise));
}

int SoftmaxAxisOf(const NodeImport& node, ImportedValue& value) {
  if (node.opset() >= 13) return AxisOf(node, value.shape, -1);
  const int axis = AxisOf(node, value.shape, 1);
  RequireElements(value.shape);
  std::int64_t rows = 1;
  for (int d = 0; d < axis; ++d) rows *= value.shape[d];
  value.shape = Shape{rows, value.shape.elements() / rows};
  return 1;
}

std::int64_t PositionOf(std::int64_t index, std::int64_t extent) {
  if (index < -extent || index >= extent) {
    throw UnsupportedNode(fmt::format("index {} of {} elements", index, extent));
  }
  return index < 0 ? index + extent : index;
}

void CheckIndicesFollowBatch(const NodeImport& node) {
  const ValueOfFileBatch* of_file = node.OfFileBatch(0);
  const Shape value = node.AnySourceAt(0).shape, indices = node.ConstantAt(1).shape;
  if (of_file == nullptr || std::min({of_file->shape.rank(), value.rank(), indices.rank()}) < 1) {
    return;
  }
  const std::int64_t batch = of_file->shape[0];
  if (batch == value[0] || indices[0] != batch) return;
  throw UnsupportedNode(fmt::format(
      "its constant indices of {} are for the batch of {} that the file fixes; import it with this "
      "batch, or export it with an open one",
      indices.ToString(), batch));
}

ModelTensor IndicesAlong(NodeImport& node, std::int64_t count, int axis, int rank) {
  node.ReserveMemory(Shape{count}, DataType::kF64);
  std::vector<double> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  std::vector<std::int64_t> extents(static_cast<std::size_t>(rank), 1);
  extents[static_cast<std::size_t>(axis)] = count;
  return MakeTensor(Shape(std::move(extents)), DataType::kF32, std::move(values));
}

ImportedValue AddGather(NodeImport& node, const ImportedValue& value,
                        const std::vector<std::int64_t>& positions, const Shape& shape) {
  const auto count = static_cast<std::int64_t>(positions.size());
  ImportedValue flat = value;
  flat.shape = Shape{1, value.shape.elements(), 1};
  const auto op = std::make_shared<GatherOp>(
      GatherExtents{.extent = value.shape.elements(), .count = count}, true);
  const ValueId result = node.AddLayer(op, {node.Plain(flat)});
  Tensor& indices = node.NewParameter("indices", Shape{count});
  std::copy(positions.begin(), positions.end(), indices.as<float>());
  return {result, shape, {}, {}, value.type};
}

namespace {

ImportedValue AddTopK(NodeImport& node, const ImportedValue& value, const TopKSettings& settings) {
  const ValueId source = node.Plain(value);
  const auto op = std::make_shared<TopKOp>(node.ShapeOf(source), settings);
  ImportedValue result{node.AddLayer(op, {source}), op->dst_shape()};
  result.type = settings.indices ? kOnnxInt64 : value.type;
  if (settings.indices) result.most = static_cast<double>(value.shape[settings.axis] - 1);
  return result;
}

// The axis in reverse order.
ImportedValue AddReversed(NodeImport& node, const ImportedValue& value, int axis) {
  std::vector<SliceAxis> axes = WholeAxes(value.shape);
  const std::int64_t extent = value.shape[axis];
  axes[static_cast<std::size_t>(axis)] = {extent - 1, -1, extent};
  return AddSlice(node, value, std::move(axes), SliceBorder::kNone, 0);
}

// The last of several equal elements is the first one of the reversed axis.
template <bool kLargest>
void ImportArg(NodeImport& node) {
  ImportedValue value = node.ExactSourceAt(0);
  const Shape shape = value.shape;
  const int axis = AxisOf(node, shape, 0);
  const bool last = node.node().Int("select_last_index", 0) != 0;
  if (last) value = AddReversed(node, value, axis);
  ImportedValue result = AddTopK(node, value, {axis, 1, kLargest, true});
  if (last) {
    const auto most = static_cast<double>(shape[axis] - 1);
    result = AddBinary(node, "sub", ScalarTensor(most), result);
    result.type = kOnnxInt64;
    result.most = most;
  }
  if (node.node().Int("keepdims", 1) == 0) {
    std::vector<std::int64_t> extents = result.shape.extents();
    extents.erase(extents.begin() + axis);
    result.shape = Shape(std::move(extents));
  }
  node.Produce(std::move(result));
}

void ImportTopK(NodeImport& node) {
  const ImportedValue value = node.ExactSourceAt(0);
  TopKSettings settings{.axis = AxisOf(node, value.shape, -1)};
  settings.largest = node.node().Int("largest", 1) != 0;
  settings.k = node.node().Int("k", 0);
  if (node.opset() >= 10) {
    const std::vector<std::int64_t> k = IntsOf(node.ConstantAt(1));
    if (k.size() != 1) throw UnsupportedNode("several k");
    settings.k = k.front();
  }
  for (std::size_t output = 0; output < std::min<std::size_t>(node.node().outputs.size(), 2);
       ++output) {
    settings.indices = output == 1;
    if (node.IsRead(output)) node.Produce(AddTopK(node, value, settings), output);
  }
}

// 1 at the first maximum along the axis, and 0 elsewhere.
void ImportHardmax(NodeImport& node) {
  ImportedValue value = node.SourceAt(0);
  const Shape shape = value.shape;
  const int axis = SoftmaxAxisOf(node, value);
  const ImportedValue winners = AddTopK(node, value, {axis, 1, true, true});
  ImportedValue result = AddBinary(node, "equal", winners,
                                   IndicesAlong(node, value.shape[axis], axis, value.shape.rank()));
  result.shape = shape;
  node.Produce(std::move(result));
}

// The indices become a new dimension, in which the element at the index is "on". Since opset 11 a
// negative index counts from the end.
void ImportOneHot(NodeImport& node) {
  ImportedValue indices = node.AnySourceAt(0);
  const std::vector<double> depths = ValuesOf(node.ConstantAt(1));
  const ModelTensor& values = node.ConstantAt(2);
  constexpr double kMostDepth = 16777216;
  const int rank = indices.shape.rank() + 1;
  const std::int64_t axis_given = node.node().Int("axis", -1);
  if (depths.size() != 1 || !(depths[0] >= 1 && depths[0] <= kMostDepth) ||
      values.elements() != 2 || axis_given < -rank || axis_given >= rank) {
    throw UnsupportedNode("its depth, values or axis are invalid");
  }
  if (indices.type == kOnnxFloat) indices = AddUnary(node, "trunc", indices);
  const auto axis = static_cast<int>(axis_given < 0 ? axis_given + rank : axis_given);
  const auto depth = static_cast<std::int64_t>(depths[0]);
  std::vector<std::int64_t> extents = indices.shape.extents();
  extents.insert(extents.begin() + axis, 1);
  indices.shape = Shape(std::move(extents));
  const ModelTensor numbers = IndicesAlong(node, depth, axis, rank);
  ImportedValue on = AddBinary(node, "equal", indices, numbers);
  if (node.opset() >= 11) {
    std::vector<double> from_end = ValuesOf(numbers);
    for (double& number : from_end) number -= static_cast<double>(depth);
    on = AddBinary(node, "max", on,
                   AddBinary(node, "equal", indices,
                             MakeTensor(numbers.shape, DataType::kF32, std::move(from_end))));
  }
  const std::vector<double> off_on = ValuesOf(values);
  const ImportedValue off = AddBinary(node, "sub", ScalarTensor(1), on);
  ImportedValue result =
      AddBinary(node, "add", AddBinary(node, "masked", on, ScalarTensor(off_on[1])),
                AddBinary(node, "masked", off, ScalarTensor(off_on[0])));
  CheckExactInF32(values.type, off_on);
  result.type = OnnxTypeOf(values);
  node.Produce(std::move(result));
}

void ImportGather(NodeImport& node) {
  const ImportedValue value = node.AnySourceAt(0);
  const int axis = AxisOf(node, value.shape, 0);
  const bool constant = node.IsConstant(1);
  const Shape of_indices = constant ? node.ConstantAt(1).shape : node.AnySourceAt(1).shape;
  GatherExtents e{.extent = value.shape[axis], .count = of_indices.elements()};
  std::vector<std::int64_t> extents;
  for (int d = 0; d < value.shape.rank(); ++d) {
    if (d == axis) {
      extents.insert(extents.end(), of_indices.extents().begin(), of_indices.extents().end());
      continue;
    }
    (d < axis ? e.outer : e.inner) *= value.shape[d];
    extents.push_back(value.shape[d]);
  }
  const auto op = std::make_shared<GatherOp>(e, constant);
  ImportedValue source = value;
  source.shape = op->src_shape();
  std::vector<ValueId> sources = {node.Plain(source)};
  std::vector<std::int64_t> positions;
  if (constant) {
    node.ReserveMemory(of_indices, DataType::kS64);
    for (const std::int64_t index : IntsOf(node.ConstantAt(1))) {
      positions.push_back(PositionOf(index, e.extent));
    }
  } else {
    ImportedValue indices = node.AnySourceAt(1);
    if (indices.type == kOnnxFloat) throw UnsupportedNode("its indices are of float");
    indices.shape = Shape{e.count};
    sources.push_back(node.Plain(indices));
  }
  ImportedValue result{node.AddLayer(op, sources), Shape(std::move(extents))};
  if (constant) {
    Tensor& indices = node.NewParameter("indices", Shape{e.count});
    std::copy(positions.begin(), positions.end(), indices.as<float>());
  }
  result.type = value.type;
  node.Produce(std::move(result));
}

// The strides of a row-major tensor.
std::vector<std::int64_t> StridesOf(const Shape& shape) {
  std::vector<std::int64_t> strides(static_cast<std::size_t>(shape.rank()), 1);
  for (int d = shape.rank() - 2; d >= 0; --d) {
    strides[static_cast<std::size_t>(d)] = strides[static_cast<std::size_t>(d) + 1] * shape[d + 1];
  }
  return strides;
}

// The indices of a node, with memory for the positions that are computed from them.
std::vector<std::int64_t> IndicesAt(NodeImport& node, const Shape& positions) {
  node.ReserveMemory(positions, DataType::kS64);
  return IntsOf(node.ConstantAt(1));
}

// Each element of the result has its own index on the axis.
void ImportGatherElements(NodeImport& node) {
  const ImportedValue value = node.AnySourceAt(0);
  CheckIndicesFollowBatch(node);
  const int axis = AxisOf(node, value.shape, 0);
  const Shape shape = node.ConstantAt(1).shape;
  bool fits = shape.rank() == value.shape.rank();
  for (int d = 0; fits && d < shape.rank(); ++d) fits = d == axis || shape[d] <= value.shape[d];
  if (!fits) {
    throw UnsupportedNode(
        fmt::format("indices of {} into {}", shape.ToString(), value.shape.ToString()));
  }
  std::vector<std::int64_t> positions = IndicesAt(node, shape);
  const std::vector<std::int64_t> strides = StridesOf(value.shape), of_indices = StridesOf(shape);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    std::int64_t position = 0;
    for (int d = 0; d < shape.rank(); ++d) {
      const auto dimension = static_cast<std::size_t>(d);
      const std::int64_t own = at / of_indices[dimension] % shape[d];
      const std::int64_t index = d == axis ? PositionOf(positions[i], value.shape[d]) : own;
      position += index * strides[dimension];
    }
    positions[i] = position;
  }
  node.Produce(AddGather(node, value, positions, shape));
}

// The last dimension of the indices is a place in the dimensions of the value after the batch.
void ImportGatherNd(NodeImport& node) {
  const ImportedValue value = node.AnySourceAt(0);
  CheckIndicesFollowBatch(node);
  const Shape& from = value.shape;
  const Shape indices_shape = node.ConstantAt(1).shape;
  const std::int64_t batch = node.node().Int("batch_dims", 0);
  if (indices_shape.rank() < 1 || batch < 0 || batch >= indices_shape.rank() ||
      batch >= from.rank()) {
    throw UnsupportedNode(fmt::format("batch_dims {} of {}", batch, from.ToString()));
  }
  const std::int64_t length = indices_shape[indices_shape.rank() - 1];
  if (length < 1 || length > from.rank() - batch) {
    throw UnsupportedNode(fmt::format("indices of {} into {}", indices_shape.ToString(),  //
                                      from.ToString()));
  }
  std::vector<std::int64_t> extents = indices_shape.extents();
  extents.pop_back();
  std::int64_t batches = 1, slice = 1;
  for (int d = 0; d < batch; ++d) {
    if (indices_shape[d] != from[d]) throw UnsupportedNode("different batches");
    batches *= from[d];
  }
  for (int d = static_cast<int>(batch + length); d < from.rank(); ++d) {
    slice *= from[d];
    extents.push_back(from[d]);
  }
  const Shape shape(std::move(extents));
  const std::vector<std::int64_t> strides = StridesOf(from);
  const std::vector<std::int64_t> indices = IndicesAt(node, shape);
  const std::int64_t tuples = indices_shape.elements() / length;
  std::vector<std::int64_t> positions;
  positions.reserve(static_cast<std::size_t>(tuples * slice));
  for (std::int64_t t = 0; t < tuples; ++t) {
    std::int64_t first = t / (tuples / batches) * (from.elements() / batches);
    for (std::int64_t i = 0; i < length; ++i) {
      const auto d = static_cast<std::size_t>(batch + i);
      first +=
          PositionOf(indices[static_cast<std::size_t>(t * length + i)], from[static_cast<int>(d)]) *
          strides[d];
    }
    for (std::int64_t i = 0; i < slice; ++i) positions.push_back(first + i);
  }
  node.Produce(AddGather(node, value, positions, shape));
}

const NodeRegistration kArgMax("ArgMax", ImportArg<true>);
const NodeRegistration kArgMin("ArgMin", ImportArg<false>);
const NodeRegistration kGather("Gather", ImportGather);
const NodeRegistration kGatherElements("GatherElements", ImportGatherElements);
const NodeRegistration kGatherNd("GatherND", ImportGatherNd);
const NodeRegistration kHardmax("Hardmax", ImportHardmax);
const NodeRegistration kOneHot("OneHot", ImportOneHot);
const NodeRegistration kTopK("TopK", ImportTopK);

}  // namespace

}  // namespace topdnn
