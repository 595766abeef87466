// Identity, Shape, Transpose, and operations that only change a shape: of a value, which then has a
// pending reshape, or of a constant.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>

#include "kernels/transpose/transpose.h"
#include "networks/onnx/import/node_import.h"
#include "networks/onnx/nodes/integer_layers.h"

namespace topdnn {

namespace {

Shape ShapeAt(const NodeImport& node) {
  return node.IsConstant(0) ? node.ConstantAt(0).shape : node.QuantizedSourceAt(0).shape;
}

void ProduceWithShape(NodeImport& node, Shape shape) {
  constexpr int kMaxDimensions = 32;
  if (shape.rank() > kMaxDimensions) {
    throw UnsupportedNode(fmt::format("{} dimensions", shape.rank()));
  }
  if (shape.elements() != ShapeAt(node).elements()) {
    throw UnsupportedNode(fmt::format("{} reshaped to {}, which has another size",
                                      ShapeAt(node).ToString(), shape.ToString()));
  }
  if (node.IsConstant(0)) {
    node.ReserveMemory(shape, node.ConstantAt(0).type);
    ModelTensor constant = node.ConstantAt(0);
    constant.shape = std::move(shape);
    node.Produce(std::move(constant));
    return;
  }
  ImportedValue value = node.QuantizedSourceAt(0);
  static_cast<void>(node.Elements(value));
  value.shape = std::move(shape);
  value.reshaped_by = NameOfNode(node.node(), node.index());
  node.Produce(ForReaders(node, value));
}

std::vector<int> OrderOf(const NodeImport& node, int rank) {
  std::vector<std::int64_t> wanted(static_cast<std::size_t>(rank));
  std::iota(wanted.rbegin(), wanted.rend(), 0);
  wanted = node.node().Ints("perm", wanted);
  std::vector<int> order(wanted.begin(), wanted.end());
  std::vector<int> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  bool right = wanted.size() == static_cast<std::size_t>(rank);
  for (std::size_t d = 0; right && d < sorted.size(); ++d) right = sorted[d] == static_cast<int>(d);
  if (!right)
    throw UnsupportedNode(fmt::format("perm is not a permutation of {} dimensions", rank));
  return order;
}

// Copies element by element, in the order of the result.
ModelTensor Transposed(const ModelTensor& from, const std::vector<int>& order, Shape shape) {
  const std::size_t size = SizeOf(from.type);
  std::vector<std::int64_t> strides(order.size(), 1);
  for (int d = from.shape.rank() - 2; d >= 0; --d) {
    strides[static_cast<std::size_t>(d)] =
        strides[static_cast<std::size_t>(d) + 1] * from.shape[d + 1];
  }
  ModelTensor to{std::move(shape), from.type, std::string(from.bytes.size(), '\0')};
  to.boolean = from.boolean;
  to.computed_by = from.computed_by;
  std::vector<std::int64_t> index(order.size(), 0);
  for (std::size_t at = 0; at < to.bytes.size(); at += size) {
    std::int64_t position = 0;
    for (std::size_t d = 0; d < order.size(); ++d) {
      position += index[d] * strides[static_cast<std::size_t>(order[d])];
    }
    std::memcpy(to.bytes.data() + at, from.bytes.data() + static_cast<std::size_t>(position) * size,
                size);
    for (std::size_t d = order.size(); d-- > 0;) {
      if (++index[d] < to.shape[static_cast<int>(d)]) break;
      index[d] = 0;
    }
  }
  return to;
}

void ImportIdentity(NodeImport& node) {
  if (node.IsConstant(0)) {
    ProduceWithShape(node, node.ConstantAt(0).shape);
  } else {
    node.Produce(ForReaders(node, node.QuantizedSourceAt(0)));
  }
}

// Exporters write the batch of the file into the shapes of its Reshapes. For another batch this
// function changes the result's first extent. The source may differ from the file's only in its
// first extent, and both first extents must be equal in the file. The Reshape then works on each
// row by itself. A shape that is computed from the batch stays as it is.
void FollowBatch(const NodeImport& node, const Shape& from, std::vector<std::int64_t>& extents) {
  const ValueOfFileBatch* source = node.OfFileBatch(0);
  const ValueOfFileBatch* target = node.OfFileBatch(1);
  if (source == nullptr || target == nullptr || target->constant == nullptr) return;
  const Shape& was = source->shape;
  if (extents.empty() || from.rank() == 0 || was.rank() != from.rank()) return;
  if (was[0] == from[0] || extents[0] != was[0]) return;
  for (int d = 1; d < from.rank(); ++d) {
    if (was[d] != from[d]) return;
  }
  if (IntsOf(*target->constant) == extents) extents[0] = from[0];
}

void ImportReshape(NodeImport& node) {
  const Shape from = ShapeAt(node);
  std::vector<std::int64_t> extents = IntsOf(node.ConstantAt(1));
  FollowBatch(node, from, extents);
  const bool zero_means_zero = node.node().Int("allowzero", 0) != 0;
  std::int64_t known = 1;
  std::ptrdiff_t open = -1;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    if (extents[d] == 0 && !zero_means_zero && static_cast<int>(d) < from.rank()) {
      extents[d] = from[static_cast<int>(d)];
    }
    if (extents[d] == -1 && open < 0) {
      open = static_cast<std::ptrdiff_t>(d);
    } else if (extents[d] < 0 || __builtin_mul_overflow(known, extents[d], &known)) {
      throw UnsupportedNode(fmt::format("invalid extent {}", extents[d]));
    }
  }
  if (open >= 0) extents[static_cast<std::size_t>(open)] = known == 0 ? 0 : from.elements() / known;
  ProduceWithShape(node, Shape(std::move(extents)));
}

void ImportFlatten(NodeImport& node) {
  const Shape from = ShapeAt(node);
  std::int64_t axis = node.node().Int("axis", 1);
  if (axis < 0) axis += from.rank();
  if (axis < 0 || axis > from.rank()) throw UnsupportedNode("axis out of range");
  std::int64_t rows = 1, columns = 1;
  for (int d = 0; d < from.rank(); ++d) (d < axis ? rows : columns) *= from[d];
  ProduceWithShape(node, Shape{rows, columns});
}

void ImportSqueeze(NodeImport& node) {
  const Shape from = ShapeAt(node);
  const std::vector<int> axes = node.Axes(1, "axes", from.rank());
  std::vector<std::int64_t> extents;
  for (int d = 0; d < from.rank(); ++d) {
    const bool named = std::find(axes.begin(), axes.end(), d) != axes.end();
    if (axes.empty() ? from[d] != 1 : !named) extents.push_back(from[d]);
  }
  ProduceWithShape(node, Shape(std::move(extents)));
}

void ImportUnsqueeze(NodeImport& node) {
  const Shape from = ShapeAt(node);
  const std::size_t more =
      node.Has(1) ? IntsOf(node.ConstantAt(1)).size() : node.node().Ints("axes", {}).size();
  const auto rank = static_cast<std::size_t>(from.rank()) + more;
  constexpr std::size_t kMaxAdded = 32;
  if (more > kMaxAdded) throw UnsupportedNode(fmt::format("{} dimensions", rank));
  const std::vector<int> axes = node.Axes(1, "axes", static_cast<int>(rank));
  std::vector<std::int64_t> extents;
  int next = 0;
  for (int d = 0; d < static_cast<int>(rank); ++d) {
    const bool added = std::find(axes.begin(), axes.end(), d) != axes.end();
    extents.push_back(added ? 1 : from[next++]);
  }
  ProduceWithShape(node, Shape(std::move(extents)));
}

// Adds no layer when only dimensions of extent 1 move, because the elements then keep their order.
void ImportTranspose(NodeImport& node) {
  const Shape from = ShapeAt(node);
  const std::vector<int> order = OrderOf(node, from.rank());
  std::vector<std::int64_t> extents;
  bool keeps_order = true;
  int last = -1;
  for (const int d : order) {
    extents.push_back(from[d]);
    if (from[d] == 1) continue;
    keeps_order &= d > last;
    last = d;
  }
  Shape shape(std::move(extents));
  if (keeps_order) {
    ProduceWithShape(node, std::move(shape));
  } else if (node.IsConstant(0)) {
    node.ReserveMemory(shape, node.ConstantAt(0).type);
    node.Produce(Transposed(node.ConstantAt(0), order, std::move(shape)));
  } else {
    ImportedValue value = node.QuantizedSourceAt(0);
    const ValueId source = node.Plain(value);
    value.value = node.AddLayer(std::make_shared<TransposeOp>(from, order), {source});
    value.shape = shape;
    node.Produce(ForReaders(node, value));
  }
}

void ImportShape(NodeImport& node) {
  const Shape shape = ShapeAt(node);
  if (!node.IsConstant(0)) static_cast<void>(node.Elements(node.QuantizedSourceAt(0)));
  const auto clamped = [&](std::int64_t d) {
    return std::clamp<std::int64_t>(d < 0 ? d + shape.rank() : d, 0, shape.rank());
  };
  const std::int64_t start = clamped(node.node().Int("start", 0));
  const std::int64_t end = clamped(node.node().Int("end", shape.rank()));
  std::vector<double> extents;
  for (std::int64_t d = start; d < end; ++d) {
    extents.push_back(static_cast<double>(shape[static_cast<int>(d)]));
  }
  const auto count = static_cast<std::int64_t>(extents.size());
  node.Produce(MakeTensor(Shape{count}, DataType::kS64, std::move(extents)));
}

void ImportSize(NodeImport& node) {
  const auto elements = static_cast<double>(ShapeAt(node).elements());
  node.Produce(MakeTensor(Shape{}, DataType::kS64, {elements}));
}

const NodeRegistration kFlatten("Flatten", ImportFlatten);
const NodeRegistration kIdentity("Identity", ImportIdentity);
const NodeRegistration kReshape("Reshape", ImportReshape);
const NodeRegistration kShape("Shape", ImportShape);
const NodeRegistration kSize("Size", ImportSize);
const NodeRegistration kSqueeze("Squeeze", ImportSqueeze);
const NodeRegistration kTranspose("Transpose", ImportTranspose);
const NodeRegistration kUnsqueeze("Unsqueeze", ImportUnsqueeze);
const ConstantNodeRegistration kFoldFlattenOfConstants("Flatten", ImportFlatten);
const ConstantNodeRegistration kFoldIdentityOfConstants("Identity", ImportIdentity);
const ConstantNodeRegistration kFoldReshapeOfConstants("Reshape", ImportReshape);
const ConstantNodeRegistration kFoldShapeOfConstants("Shape", ImportShape);
const ConstantNodeRegistration kFoldSizeOfConstants("Size", ImportSize);
const ConstantNodeRegistration kFoldSqueezeOfConstants("Squeeze", ImportSqueeze);
const ConstantNodeRegistration kFoldTransposeOfConstants("Transpose", ImportTranspose);
const ConstantNodeRegistration kFoldUnsqueezeOfConstants("Unsqueeze", ImportUnsqueeze);

}  // namespace

}  // namespace topdnn
