// Scatter, ScatterElements, ScatterND and Trilu with constant indices: a constant mask selects the
// elements that stay.

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "networks/onnx/import/node_import.h"
#include "networks/onnx/nodes/binary_nodes.h"
#include "networks/onnx/nodes/index_nodes.h"

namespace topdnn {

namespace {

// For each element, the position of the update that replaces it; -1: the element stays.
class Replacements {
 public:
  Replacements(NodeImport& node, const Shape& shape) {
    node.ReserveMemory(shape, DataType::kS64);
    of_element_.assign(static_cast<std::size_t>(shape.elements()), -1);
  }

  void Set(std::int64_t element, std::int64_t update) {
    std::int64_t& of_element = of_element_[static_cast<std::size_t>(element)];
    // ONNX does not define the result when two updates differ.
    if (of_element >= 0) throw UnsupportedNode("two updates of one element");
    of_element = update;
  }
  const std::vector<std::int64_t>& all() const { return of_element_; }

 private:
  std::vector<std::int64_t> of_element_;
};

ModelTensor MaskOf(const Replacements& replacements, const Shape& shape, bool stays) {
  std::vector<double> mask;
  for (const std::int64_t update : replacements.all()) {
    mask.push_back((update < 0) == stays ? 1.0 : 0.0);
  }
  return MakeTensor(shape, DataType::kF32, std::move(mask));
}

// The elements that stay, plus the updates in their places.
void ProduceReplaced(NodeImport& node, const Replacements& replacements) {
  const ImportedValue value = node.AnySourceAt(0);
  const ImportedValue stays =
      AddBinary(node, "masked", MaskOf(replacements, value.shape, true), value);
  ImportedValue result;
  if (node.IsConstant(2)) {
    const std::vector<double> updates = ValuesOf(node.ConstantAt(2));
    std::vector<double> placed;
    for (const std::int64_t update : replacements.all()) {
      placed.push_back(update < 0 ? 0.0 : updates[static_cast<std::size_t>(update)]);
    }
    result = AddBinary(node, "add", stays,
                       MakeTensor(value.shape, node.ConstantAt(2).type, std::move(placed)));
  } else {
    std::vector<std::int64_t> positions;
    for (const std::int64_t update : replacements.all()) {
      positions.push_back(update < 0 ? 0 : update);
    }
    const ImportedValue placed = AddGather(node, node.AnySourceAt(2), positions, value.shape);
    result = AddBinary(node, "add", stays,
                       AddBinary(node, "masked", MaskOf(replacements, value.shape, false), placed));
  }
  result.type = value.type;
  node.Produce(std::move(result));
}

Shape UpdatesShape(const NodeImport& node) {
  if (const std::string reduction = node.node().String("reduction", "none"); reduction != "none") {
    throw UnsupportedNode("reduction " + Printable(reduction));
  }
  return node.IsConstant(2) ? node.ConstantAt(2).shape : node.AnySourceAt(2).shape;
}

void ImportScatterElements(NodeImport& node) {
  CheckIndicesFollowBatch(node);
  const Shape shape = node.AnySourceAt(0).shape;
  const Shape of_indices = node.ConstantAt(1).shape;
  std::int64_t axis = node.node().Int("axis", 0);
  if (axis < 0) axis += shape.rank();
  bool fits = of_indices == UpdatesShape(node) && of_indices.rank() == shape.rank() && axis >= 0 &&
              axis < shape.rank();
  for (int d = 0; fits && d < shape.rank(); ++d) fits = d == axis || of_indices[d] <= shape[d];
  if (!fits) {
    throw UnsupportedNode(
        fmt::format("indices of {} into {}", of_indices.ToString(), shape.ToString()));
  }
  Replacements replacements(node, shape);
  const std::vector<std::int64_t> indices = IntsOf(node.ConstantAt(1));
  for (std::size_t i = 0; i < indices.size(); ++i) {
    std::int64_t element = 0, stride = 1;
    auto rest = static_cast<std::int64_t>(i);
    for (int d = shape.rank() - 1; d >= 0; --d) {
      element += (d == axis ? PositionOf(indices[i], shape[d]) : rest % of_indices[d]) * stride;
      rest /= of_indices[d];
      stride *= shape[d];
    }
    replacements.Set(element, static_cast<std::int64_t>(i));
  }
  ProduceReplaced(node, replacements);
}

void ImportScatterNd(NodeImport& node) {
  CheckIndicesFollowBatch(node);
  const Shape shape = node.AnySourceAt(0).shape;
  const Shape of_indices = node.ConstantAt(1).shape;
  const int rank = of_indices.rank();
  const std::int64_t length = rank < 1 ? 0 : of_indices[rank - 1];
  if (length < 1 || length > shape.rank()) {
    throw UnsupportedNode(
        fmt::format("indices of {} into {}", of_indices.ToString(), shape.ToString()));
  }
  std::vector<std::int64_t> wanted = of_indices.extents();
  wanted.pop_back();
  std::int64_t slice = 1;
  for (int d = static_cast<int>(length); d < shape.rank(); ++d) {
    slice *= shape[d];
    wanted.push_back(shape[d]);
  }
  if (UpdatesShape(node) != Shape(std::move(wanted))) {
    throw UnsupportedNode(fmt::format("updates of {}", UpdatesShape(node).ToString()));
  }
  Replacements replacements(node, shape);
  const std::vector<std::int64_t> indices = IntsOf(node.ConstantAt(1));
  const std::int64_t tuples = of_indices.elements() / length;
  for (std::int64_t t = 0; t < tuples; ++t) {
    std::int64_t first = 0;
    for (int d = 0; d < length; ++d) {
      const std::int64_t index = indices[static_cast<std::size_t>(t * length + d)];
      first = first * shape[d] + PositionOf(index, shape[d]);
    }
    for (std::int64_t i = 0; i < slice; ++i) replacements.Set(first * slice + i, t * slice + i);
  }
  ProduceReplaced(node, replacements);
}

// A triangle of the last two dimensions. In each row, an upper one has the columns from row + k on,
// a lower one the columns up to row + k.
void ImportTrilu(NodeImport& node) {
  const ImportedValue value = node.AnySourceAt(0);
  const int rank = value.shape.rank();
  if (rank < 2) throw UnsupportedNode(fmt::format("a triangle of {}", value.shape.ToString()));
  const std::int64_t rows = value.shape[rank - 2], columns = value.shape[rank - 1];
  std::vector<std::int64_t> k = {0};
  if (node.Has(1)) k = IntsOf(node.ConstantAt(1));
  if (k.size() != 1) throw UnsupportedNode(fmt::format("{} numbers of k, not 1", k.size()));
  const bool upper = node.node().Int("upper", 1) != 0;
  const Shape shape{rows, columns};
  node.ReserveMemory(shape, DataType::kF64);
  std::vector<double> mask;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      const std::int64_t diagonal = column - row;
      mask.push_back((upper ? diagonal >= k[0] : diagonal <= k[0]) ? 1.0 : 0.0);
    }
  }
  ImportedValue result =
      AddBinary(node, "masked", MakeTensor(shape, DataType::kF32, std::move(mask)), value);
  result.type = value.type;
  node.Produce(std::move(result));
}

const NodeRegistration kScatter("Scatter", ImportScatterElements);
const NodeRegistration kScatterElements("ScatterElements", ImportScatterElements);
const NodeRegistration kScatterNd("ScatterND", ImportScatterNd);
const NodeRegistration kTrilu("Trilu", ImportTrilu);

}  // namespace

}  // namespace topdnn
