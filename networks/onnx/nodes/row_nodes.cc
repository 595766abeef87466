// CumSum, ReverseSequence and Compress: operations along an axis, composed of slices, additions and
// gathers.

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "networks/onnx/import/node_import.h"
#include "networks/onnx/nodes/binary_nodes.h"
#include "networks/onnx/nodes/index_nodes.h"
#include "networks/onnx/nodes/slice_nodes.h"

namespace topdnn {

namespace {

// The value moved by `distance` along the axis, with zeros in the free places.
ImportedValue AddMoved(NodeImport& node, const ImportedValue& value, int axis,
                       std::int64_t distance) {
  std::vector<SliceAxis> axes = WholeAxes(value.shape);
  axes[static_cast<std::size_t>(axis)].start = -distance;
  return AddSlice(node, value, std::move(axes), SliceBorder::kFill, 0);
}

// Adds the value moved by 1, the sum moved by 2, that sum moved by 4, and so on: each element is
// then the sum of all before it and itself (Hillis and Steele 1986, "Data parallel algorithms").
void ImportCumSum(NodeImport& node) {
  ImportedValue sum = node.ExactSourceAt(0);
  const std::int64_t type = sum.type;
  const double most = type == kOnnxFloat ? 0 : sum.most.value_or(0);
  const std::vector<std::int64_t> given = IntsOf(node.ConstantAt(1));
  if (given.size() != 1) throw UnsupportedNode("several axes");
  const int axis = AxisIn(sum.shape, given.front());
  if (most * static_cast<double>(sum.shape[axis]) > node.most_exact()) {
    throw UnsupportedNode("a sum of integers that may not be exact");
  }
  const std::int64_t direction = node.node().Int("reverse", 0) != 0 ? -1 : 1;
  if (node.node().Int("exclusive", 0) != 0) sum = AddMoved(node, sum, axis, direction);
  for (std::int64_t distance = 1; distance < sum.shape[axis]; distance *= 2) {
    sum = AddBinary(node, "add", sum, AddMoved(node, sum, axis, direction * distance));
  }
  sum.type = type;
  node.Produce(std::move(sum));
}

// Reverses the first elements of each row, as many as the constant says.
void ImportReverseSequence(NodeImport& node) {
  const ImportedValue value = node.AnySourceAt(0);
  const Shape& shape = value.shape;
  RequireElements(shape);
  const std::int64_t time = node.node().Int("time_axis", 0);
  const std::int64_t batch = node.node().Int("batch_axis", 1);
  const std::vector<std::int64_t> lengths = IntsOf(node.ConstantAt(1));
  if (shape.rank() < 2 || !((time == 0 && batch == 1) || (time == 1 && batch == 0)) ||
      static_cast<std::int64_t>(lengths.size()) != shape[static_cast<int>(batch)]) {
    throw UnsupportedNode(fmt::format("{} lengths of {}", lengths.size(), shape.ToString()));
  }
  node.ReserveMemory(shape, DataType::kS64);
  const std::int64_t inner = shape.elements() / shape[0] / shape[1];
  std::vector<std::int64_t> positions;
  for (std::int64_t first = 0; first < shape[0]; ++first) {
    for (std::int64_t second = 0; second < shape[1]; ++second) {
      const std::int64_t length = lengths[static_cast<std::size_t>(time == 0 ? second : first)];
      std::int64_t& at = time == 0 ? first : second;
      if (length < 0 || length > shape[static_cast<int>(time)]) {
        throw UnsupportedNode(fmt::format("a length of {}", length));
      }
      const std::int64_t own = at;
      if (own < length) at = length - 1 - own;
      const std::int64_t from = (first * shape[1] + second) * inner;
      at = own;
      for (std::int64_t i = 0; i < inner; ++i) positions.push_back(from + i);
    }
  }
  node.Produce(AddGather(node, value, positions, shape));
}

// The elements of the axis, or of all, for which the constant condition is true.
void ImportCompress(NodeImport& node) {
  ImportedValue value = node.AnySourceAt(0);
  RequireElements(value.shape);
  if (!node.node().Has("axis")) value.shape = Shape{value.shape.elements()};
  const Shape shape = value.shape;
  const int axis = AxisIn(shape, node.node().Int("axis", 0));
  const std::vector<double> condition = ValuesOf(node.ConstantAt(1));
  std::vector<std::int64_t> chosen;
  for (std::size_t i = 0; i < condition.size(); ++i) {
    if (condition[i] != 0) chosen.push_back(static_cast<std::int64_t>(i));
  }
  if (chosen.empty() || chosen.back() >= shape[axis]) {
    throw UnsupportedNode(fmt::format("{} elements of {}", chosen.size(), shape.ToString()));
  }
  std::int64_t inner = 1;
  for (int d = axis + 1; d < shape.rank(); ++d) inner *= shape[d];
  std::vector<std::int64_t> extents = shape.extents();
  extents[static_cast<std::size_t>(axis)] = static_cast<std::int64_t>(chosen.size());
  node.ReserveMemory(shape, DataType::kS64);
  std::vector<std::int64_t> positions;
  for (std::int64_t outer = 0; outer < shape.elements() / inner / shape[axis]; ++outer) {
    for (const std::int64_t index : chosen) {
      const std::int64_t from = (outer * shape[axis] + index) * inner;
      for (std::int64_t i = 0; i < inner; ++i) positions.push_back(from + i);
    }
  }
  node.Produce(AddGather(node, value, positions, Shape(std::move(extents))));
}

const NodeRegistration kCompress("Compress", ImportCompress);
const NodeRegistration kCumSum("CumSum", ImportCumSum);
const NodeRegistration kReverseSequence("ReverseSequence", ImportReverseSequence);

}  // namespace

}  // namespace topdnn
