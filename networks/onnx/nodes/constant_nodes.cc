// Arithmetic on small constants, such as shapes, which exporters write as nodes. It is computed at
// import.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "networks/onnx/import/node_import.h"

namespace topdnn {

namespace {

// Far larger than any shape. Larger constants are data, which the import does not compute on.
constexpr std::int64_t kMaxElements = 65536;

const ModelTensor& SmallAt(const NodeImport& node, std::size_t input) {
  const ModelTensor& constant = node.ConstantAt(input);
  if (constant.elements() > kMaxElements) {
    throw UnsupportedNode(fmt::format("arithmetic on constants of {}", constant.shape.ToString()));
  }
  return constant;
}

const ModelTensor& VectorAt(const NodeImport& node, std::size_t input) {
  const ModelTensor& constant = SmallAt(node, input);
  if (constant.shape.rank() != 1) {
    throw UnsupportedNode(
        fmt::format("a constant of {}: only vectors are supported", constant.shape.ToString()));
  }
  return constant;
}

bool IsInteger(const ModelTensor& tensor) { return UnitRoundoff(tensor.type) == 0; }

// Element by element, for tensors of one shape, or with one element for all.
void FoldBinary(NodeImport& node, double (*compute)(double, double)) {
  const ModelTensor& a = SmallAt(node, 0);
  const ModelTensor& b = SmallAt(node, 1);
  // (1 precedes the extents of the one with fewer dimensions)
  std::vector<std::int64_t> extents = (a.elements() != 1 ? a : b).shape.extents();
  const int rank = std::max(a.shape.rank(), b.shape.rank());
  extents.insert(extents.begin(), static_cast<std::size_t>(rank) - extents.size(), 1);
  const Shape shape(std::move(extents));
  if (a.shape != b.shape && a.elements() != 1 && b.elements() != 1) {
    throw UnsupportedNode(
        fmt::format("constants of {} and {}", a.shape.ToString(), b.shape.ToString()));
  }
  const std::vector<double> x = ValuesOf(a), y = ValuesOf(b);
  std::vector<double> result(static_cast<std::size_t>(shape.elements()));
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = compute(x[x.size() == 1 ? 0 : i], y[y.size() == 1 ? 0 : i]);
  }
  node.Produce(MakeTensor(shape, a.type, std::move(result)));
}

void FoldUnary(NodeImport& node, double (*compute)(double)) {
  const ModelTensor& constant = SmallAt(node, 0);
  std::vector<double> values = ValuesOf(constant);
  std::transform(values.begin(), values.end(), values.begin(), compute);
  node.Produce(MakeTensor(constant.shape, constant.type, std::move(values)));
}

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
  const Shape shape(IntsOf(VectorAt(node, 0)));
  for (const std::int64_t extent : shape.extents()) {
    if (extent < 0) throw UnsupportedNode(fmt::format("invalid extent {}", extent));
  }
  // Large ones are allowed: in the ONNX project's light models these constants are the weights.
  constexpr std::int64_t kMaxFilled = std::int64_t{1} << 28;  // 1 GiB in f32
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape.extents()) {
    if (__builtin_mul_overflow(elements, extent, &elements)) elements = kMaxFilled + 1;
    if (elements > kMaxFilled) break;
  }
  if (shape.rank() > 32 || elements > kMaxFilled) {
    throw UnsupportedNode(fmt::format("a constant of {}", shape.ToString()));
  }
  DataType type = DataType::kF32;
  double value = 0;
  if (const auto found = node.node().attributes.find("value");
      found != node.node().attributes.end() && found->second.tensor) {
    type = found->second.tensor->type;
    if (found->second.tensor->elements() != 1) throw UnsupportedNode("several values");
    value = ValuesOf(*found->second.tensor).front();
  }
  node.ReserveMemory(shape, type);
  const ModelTensor one = MakeTensor({}, type, {value});
  ModelTensor filled{shape, type, std::string()};
  filled.bytes.reserve(static_cast<std::size_t>(elements) * one.bytes.size());
  for (std::int64_t i = 0; i < elements; ++i) filled.bytes += one.bytes;
  node.Produce(std::move(filled));
}

void FoldCast(NodeImport& node) {
  const ModelTensor& constant = SmallAt(node, 0);
  DataType type = DataType::kF32;
  switch (node.node().Int("to", 0)) {
    case kOnnxFloat:
      break;
    case kOnnxDouble:
      type = DataType::kF64;
      break;
    case kOnnxInt64:
    case kOnnxInt32:
      type = DataType::kS64;
      break;
    default:
      throw UnsupportedNode(fmt::format("a cast to ONNX's type {}", node.node().Int("to", 0)));
  }
  node.Produce(MakeTensor(constant.shape, type, ValuesOf(constant)));
}

void FoldGather(NodeImport& node) {
  const ModelTensor& from = VectorAt(node, 0);
  const ModelTensor& indices = SmallAt(node, 1);
  const std::vector<double> values = ValuesOf(from);
  const auto count = static_cast<std::int64_t>(values.size());
  std::vector<double> result;
  for (const std::int64_t index : IntsOf(indices)) {
    if (index < -count || index >= count) {
      throw UnsupportedNode(fmt::format("index {} of {} elements", index, count));
    }
    result.push_back(values[static_cast<std::size_t>(index < 0 ? index + count : index)]);
  }
  node.Produce(MakeTensor(indices.shape, from.type, std::move(result)));
}

void FoldSlice(NodeImport& node) {
  const ModelTensor& from = VectorAt(node, 0);
  const std::vector<double> values = ValuesOf(from);
  const bool by_input = node.opset() >= 10;
  const auto one = [&](std::size_t input, const char* attribute, std::int64_t otherwise) {
    const auto ints = by_input && node.Has(input) ? IntsOf(VectorAt(node, input))
                                                  : node.node().Ints(attribute, {otherwise});
    if (ints.size() != 1) throw UnsupportedNode("several axes of a vector");
    return ints.front();
  };
  const auto count = static_cast<std::int64_t>(values.size());
  if (const std::int64_t axis = one(3, "axes", 0); axis != 0 && axis != -1) {
    throw UnsupportedNode(fmt::format("axis {} of a vector", axis));
  }
  const std::int64_t step = by_input ? one(4, "", 1) : 1;
  if (step < 1) throw UnsupportedNode(fmt::format("a step of {}", step));
  const auto clamped = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + count : at, 0, count);
  };
  const std::int64_t start = clamped(one(1, "starts", 0));
  const std::int64_t end = clamped(one(2, "ends", count));
  std::vector<double> result;
  for (std::int64_t i = start; i < end; i += std::min(step, count)) {
    result.push_back(values[static_cast<std::size_t>(i)]);
  }
  const auto length = static_cast<std::int64_t>(result.size());
  node.Produce(MakeTensor(Shape{length}, from.type, std::move(result)));
}

void FoldConcat(NodeImport& node) {
  std::vector<double> values;
  bool all_integers = true;
  for (std::size_t i = 0; i < node.inputs(); ++i) {
    const ModelTensor& part = VectorAt(node, i);
    all_integers &= IsInteger(part);
    const std::vector<double> more = ValuesOf(part);
    values.insert(values.end(), more.begin(), more.end());
    if (values.size() > static_cast<std::size_t>(kMaxElements)) {
      throw UnsupportedNode("the constant is too long");
    }
  }
  const auto count = static_cast<std::int64_t>(values.size());
  const DataType type = all_integers ? DataType::kS64 : DataType::kF32;
  node.Produce(MakeTensor(Shape{count}, type, std::move(values)));
}

void FoldAdd(NodeImport& node) {
  FoldBinary(node, [](double x, double y) { return x + y; });
}

void FoldSub(NodeImport& node) {
  FoldBinary(node, [](double x, double y) { return x - y; });
}

void FoldMul(NodeImport& node) {
  FoldBinary(node, [](double x, double y) { return x * y; });
}

void FoldDiv(NodeImport& node) {
  if (IsInteger(SmallAt(node, 0))) {
    for (const double divisor : ValuesOf(SmallAt(node, 1))) {
      if (divisor == 0) throw UnsupportedNode("a division by 0");
    }
  }
  // For integers, MakeTensor drops the fraction, as ONNX does.
  FoldBinary(node, [](double x, double y) { return x / y; });
}

void FoldFloor(NodeImport& node) {
  FoldUnary(node, [](double x) { return std::floor(x); });
}

void FoldCeil(NodeImport& node) {
  FoldUnary(node, [](double x) { return std::ceil(x); });
}

void FoldReduceProd(NodeImport& node) {
  const ModelTensor& constant = VectorAt(node, 0);
  const std::vector<double> values = ValuesOf(constant);
  const double product = std::accumulate(values.begin(), values.end(), 1.0, std::multiplies<>());
  const Shape shape = node.node().Int("keepdims", 1) != 0 ? Shape{1} : Shape{};
  node.Produce(MakeTensor(shape, constant.type, {product}));
}

const ConstantNodeRegistration kFoldAdd("Add", FoldAdd);
const ConstantNodeRegistration kFoldCast("Cast", FoldCast);
const ConstantNodeRegistration kFoldCeil("Ceil", FoldCeil);
const ConstantNodeRegistration kFoldConcat("Concat", FoldConcat);
const ConstantNodeRegistration kFoldConstant("Constant", FoldConstant);
const ConstantNodeRegistration kFoldConstantOfShape("ConstantOfShape", FoldConstantOfShape);
const ConstantNodeRegistration kFoldDiv("Div", FoldDiv);
const ConstantNodeRegistration kFoldFloor("Floor", FoldFloor);
const ConstantNodeRegistration kFoldGather("Gather", FoldGather);
const ConstantNodeRegistration kFoldMul("Mul", FoldMul);
const ConstantNodeRegistration kFoldReduceProd("ReduceProd", FoldReduceProd);
const ConstantNodeRegistration kFoldSlice("Slice", FoldSlice);
const ConstantNodeRegistration kFoldSub("Sub", FoldSub);

}  // namespace

}  // namespace topdnn
