// Operations that make constants. The others on constants are in constant_graph.h.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "networks/onnx/import/node_import.h"

namespace topdnn {

namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 28;  // 1 GiB in f32

void FoldConstant(NodeImport& node) {
  for (const auto& [name, attribute] : node.node().attributes) {
    if (attribute.tensor) {
      node.ReserveMemory(attribute.tensor->shape, attribute.tensor->type);
      node.Produce(ModelTensor(*attribute.tensor));
    } else if (attribute.i) {
      node.Produce(MakeTensor({}, DataType::kS64, {static_cast<double>(*attribute.i)}));
    } else if (attribute.f) {
      node.Produce(MakeTensor({}, DataType::kF32, {static_cast<double>(*attribute.f)}));
    } else if (name == "value_ints" || name == "value_floats") {
      const bool ints = name == "value_ints";
      std::vector<double> values(attribute.ints.begin(), attribute.ints.end());
      if (!ints) values.assign(attribute.floats.begin(), attribute.floats.end());
      const auto count = static_cast<std::int64_t>(values.size());
      const DataType type = ints ? DataType::kS64 : DataType::kF32;
      node.Produce(MakeTensor(Shape{count}, type, std::move(values)));
    } else {
      throw UnsupportedNode(fmt::format("attribute {}", Printable(name)));
    }
    return;
  }
  throw UnsupportedNode("it has no value");
}

void FoldConstantOfShape(NodeImport& node) {
  const Shape shape(IntsOf(node.ConstantAt(0)));
  for (const std::int64_t extent : shape.extents()) {
    if (extent < 0) throw UnsupportedNode(fmt::format("invalid extent {}", extent));
  }
  // Large ones are allowed: in the ONNX project's light models these constants are the weights.
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape.extents()) {
    if (__builtin_mul_overflow(elements, extent, &elements)) elements = kMostElements + 1;
    if (elements > kMostElements) break;
  }
  if (shape.rank() > 32 || elements > kMostElements) {
    throw UnsupportedNode(fmt::format("a constant of {}", shape.ToString()));
  }
  DataType type = DataType::kF32;
  bool boolean = false;
  double value = 0;
  if (const auto found = node.node().attributes.find("value");
      found != node.node().attributes.end() && found->second.tensor) {
    type = found->second.tensor->type;
    boolean = found->second.tensor->boolean;
    if (found->second.tensor->elements() != 1) throw UnsupportedNode("several values");
    value = ValuesOf(*found->second.tensor).front();
  }
  node.ReserveMemory(shape, type);
  const ModelTensor one = MakeTensor({}, type, {value});
  ModelTensor filled{shape, type, std::string()};
  filled.boolean = boolean;
  filled.bytes.reserve(static_cast<std::size_t>(elements) * one.bytes.size());
  for (std::int64_t i = 0; i < elements; ++i) filled.bytes += one.bytes;
  node.Produce(std::move(filled));
}

// The numbers from `start` to before `limit`.
void FoldRange(NodeImport& node) {
  const DataType type = node.ConstantAt(0).type;
  std::vector<double> ends;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::vector<double> values = ValuesOf(node.ConstantAt(i));
    if (values.size() != 1) throw UnsupportedNode(fmt::format("its input {} is no scalar", i));
    ends.push_back(values.front());
  }
  const double count = std::max(std::ceil((ends[1] - ends[0]) / ends[2]), 0.0);
  if (!(count <= static_cast<double>(kMostElements)))
    throw UnsupportedNode(fmt::format("{} numbers", count));
  const Shape shape{static_cast<std::int64_t>(count)};
  node.ReserveMemory(shape, DataType::kF64);
  std::vector<double> values;
  for (std::int64_t i = 0; i < shape[0]; ++i) {
    values.push_back(ends[0] + static_cast<double>(i) * ends[2]);
  }
  node.Produce(MakeTensor(shape, type, std::move(values)));
}

// 1 on the k-th diagonal of a matrix of the input's shape, and 0 elsewhere.
void FoldEyeLike(NodeImport& node) {
  const ModelTensor& like = node.ConstantAt(0);
  if (like.shape.rank() != 2) {
    throw UnsupportedNode(fmt::format("a diagonal of {}", like.shape.ToString()));
  }
  const std::int64_t columns = like.shape[1], k = node.node().Int("k", 0);
  const std::int64_t type = node.node().Int("dtype", OnnxTypeOf(like));
  node.ReserveMemory(like.shape, DataType::kF64);
  std::vector<double> values;
  for (std::int64_t i = 0; i < like.elements(); ++i) {
    values.push_back(i % columns - i / columns == k ? 1.0 : 0.0);
  }
  ModelTensor diagonal = MakeTensor(like.shape, TypeOfElements(type), std::move(values));
  diagonal.boolean = type == kOnnxBool;
  node.Produce(std::move(diagonal));
}

const ConstantNodeRegistration kFoldConstant("Constant", FoldConstant);
const ConstantNodeRegistration kFoldConstantOfShape("ConstantOfShape", FoldConstantOfShape);
const ConstantNodeRegistration kFoldEyeLike("EyeLike", FoldEyeLike);
const ConstantNodeRegistration kFoldRange("Range", FoldRange);

}  // namespace

}  // namespace topdnn
