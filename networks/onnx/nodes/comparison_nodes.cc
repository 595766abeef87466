// Comparisons, operations on booleans, Where, and Cast. Booleans are 0 and 1.

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "networks/onnx/import/node_import.h"
#include "networks/onnx/nodes/binary_nodes.h"

namespace topdnn {

namespace {

// A layer with a function of two inputs of any types. The result has the type `type`.
ImportedValue AddOfInputs(NodeImport& node, std::string_view function, std::size_t first,
                          std::size_t second, std::int64_t type) {
  ImportedValue result = AddBinaryOfInputs(node, function, first, second);
  result.type = type;
  return result;
}

template <const char* kFunction>
void ImportComparison(NodeImport& node) {
  if (node.inputs() != 2) throw UnsupportedNode("it needs two inputs");
  node.Produce(AddOfInputs(node, kFunction, 0, 1, kOnnxBool));
}

void CheckBoolean(const NodeImport& node, std::size_t input) {
  if (!node.IsConstant(input)) {
    if (const std::int64_t type = node.AnySourceAt(input).type; type != kOnnxBool) {
      throw UnsupportedNode(
          fmt::format("its input {} is of {}, not bool", input, NameOfOnnxType(type)));
    }
    return;
  }
  for (const double x : ValuesOf(node.ConstantAt(input))) {
    if (x != 0 && x != 1) throw UnsupportedNode(fmt::format("the boolean {}", x));
  }
}

template <const char* kFunction>
void ImportLogic(NodeImport& node) {
  if (node.inputs() != 2) throw UnsupportedNode("it needs two inputs");
  CheckBoolean(node, 0);
  CheckBoolean(node, 1);
  node.Produce(AddOfInputs(node, kFunction, 0, 1, kOnnxBool));
}

// 1 where the boolean is 0.
ImportedValue AddNot(NodeImport& node, const ImportedValue& value) {
  ImportedValue result = AddBinary(node, "sub", ScalarTensor(1), value);
  result.type = kOnnxBool;
  return result;
}

void ImportNot(NodeImport& node) {
  CheckBoolean(node, 0);
  node.Produce(AddNot(node, node.AnySourceAt(0)));
}

// The negation of a constant: 1 - x for each boolean x, in f32.
ModelTensor NotOf(const ModelTensor& condition) {
  std::vector<double> values = ValuesOf(condition);
  for (double& x : values) x = 1 - x;
  return MakeTensor(condition.shape, DataType::kF32, std::move(values));
}

// The input where the condition (input 0 or its negation) is true, and 0 elsewhere.
ImportedValue AddMasked(NodeImport& node, std::size_t input, bool negated) {
  if (node.IsConstant(0)) {
    if (node.IsConstant(input)) throw UnsupportedNode("it chooses among constants by a constant");
    const ModelTensor& condition = node.ConstantAt(0);
    const ImportedValue value = node.AnySourceAt(input);
    return AddBinary(node, "masked", negated ? NotOf(condition) : condition, value);
  }
  ImportedValue condition = node.AnySourceAt(0);
  if (negated) condition = AddNot(node, condition);
  if (node.IsConstant(input)) return AddBinary(node, "masked", condition, node.ConstantAt(input));
  return AddBinary(node, "masked", condition, node.AnySourceAt(input));
}

// The same for a constant input and a constant condition, without a layer.
ModelTensor MaskedConstant(const NodeImport& node, std::size_t input, bool negated) {
  const ModelTensor& condition = node.ConstantAt(0);
  const ModelTensor& constant = node.ConstantAt(input);
  const bool one = constant.elements() == 1 && constant.shape.rank() <= condition.shape.rank();
  if (!one && constant.shape != condition.shape) {
    throw UnsupportedNode(fmt::format("a constant of {} chosen by one of {}",
                                      constant.shape.ToString(), condition.shape.ToString()));
  }
  const std::vector<double> mask = ValuesOf(condition), from = ValuesOf(constant);
  std::vector<double> values(mask.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if ((mask[i] != 0) != negated) values[i] = from[one ? 0 : i];
  }
  CheckExactInF32(constant.type, values);
  return MakeTensor(condition.shape, DataType::kF32, std::move(values));
}

std::int64_t TypeAt(const NodeImport& node, std::size_t input) {
  return node.IsConstant(input) ? OnnxTypeOf(node.ConstantAt(input)) : node.AnySourceAt(input).type;
}

// The sum of both inputs, each with 0 where it is not chosen.
void ImportWhere(NodeImport& node) {
  if (node.inputs() != 3) throw UnsupportedNode("it needs three inputs");
  CheckBoolean(node, 0);
  const std::size_t value_input = node.IsConstant(1) ? 2 : 1;
  const std::int64_t type = TypeAt(node, value_input);
  ImportedValue result;
  if (node.IsConstant(0) && (node.IsConstant(1) || node.IsConstant(2))) {
    const std::size_t constant_input = 3 - value_input;
    result = AddBinary(node, "add", AddMasked(node, value_input, value_input == 2),
                       MaskedConstant(node, constant_input, constant_input == 2));
  } else {
    result = AddBinary(node, "add", AddMasked(node, 1, false), AddMasked(node, 2, true));
  }
  result.type = type;
  node.Produce(std::move(result));
}

void ImportIsNan(NodeImport& node) {
  const ImportedValue value = node.SourceAt(0);
  ImportedValue result = AddBinary(node, "not_equal", value, value);
  result.type = kOnnxBool;
  node.Produce(std::move(result));
}

void ImportIsInf(NodeImport& node) {
  const bool positive = node.node().Int("detect_positive", 1) != 0;
  const bool negative = node.node().Int("detect_negative", 1) != 0;
  constexpr double kLargest = static_cast<double>(std::numeric_limits<float>::max());
  ImportedValue value = node.SourceAt(0);
  if (!positive && !negative) throw UnsupportedNode("it detects nothing");
  if (positive && negative) value = AddUnary(node, "abs", value);
  ImportedValue result = AddBinary(node, positive ? "greater" : "less", value,
                                   ScalarTensor(positive ? kLargest : -kLargest));
  result.type = kOnnxBool;
  node.Produce(std::move(result));
}

// To float (and double, for a constant), every type keeps its elements. ONNX does not define a cast
// to an integer type that cannot represent the number, so such a cast only drops the fraction.
ImportedValue AddCast(NodeImport& node, ImportedValue value, std::int64_t to) {
  const std::int64_t from = value.type;
  if (!value.steps.empty() && to == kOnnxFloat) value = AddIntegerSteps(node, value);
  if (to == from || to == kOnnxFloat || to == kOnnxDouble) {
    value.type = to;
    return value;
  }
  if (to == kOnnxBool) {
    value = AddBinary(node, "not_equal", value, ScalarTensor(0));
  } else if (from == kOnnxFloat) {
    value = AddUnary(node, "trunc", value);
  } else {
    const std::optional<double> most = MostOf(value);
    constexpr double kMostInt32 = 2147483647, kMostInt8 = 127;
    const bool fits =
        from == kOnnxBool || to == kOnnxInt64 ||
        (most && ((to == kOnnxInt32 && *most <= std::min(node.most_exact(), kMostInt32)) ||
                  (to == kOnnxInt8 && *most <= kMostInt8)));
    if (!fits) {
      throw UnsupportedNode(fmt::format("a cast from {} to {}: it may change the numbers",
                                        NameOfOnnxType(from), NameOfOnnxType(to)));
    }
    value.most = most;
  }
  value.type = to;
  return value;
}

// A network computes float16 in f32.
void ImportCast(NodeImport& node) {
  std::int64_t to = node.node().Int("to", 0);
  if (to == kOnnxFloat16) to = kOnnxFloat;
  if (to == kOnnxDouble && !node.is_of_constants()) {
    throw UnsupportedNode("a cast to double: topdnn computes in f32; export the model in float");
  }
  if (to != kOnnxFloat && to != kOnnxDouble && to != kOnnxUint8 && to != kOnnxInt8 &&
      to != kOnnxInt32 && to != kOnnxInt64 && to != kOnnxBool) {
    throw UnsupportedNode(fmt::format("a cast to ONNX's type {}", to));
  }
  node.Produce(AddCast(node, node.AnySourceAt(0), to));
}

constexpr char kEqualName[] = "equal", kGreaterName[] = "greater",
               kGreaterOrEqualName[] = "greater_or_equal", kLessName[] = "less",
               kLessOrEqualName[] = "less_or_equal", kOrName[] = "max", kAndName[] = "min",
               kNotEqualName[] = "not_equal";

const NodeRegistration kAnd("And", ImportLogic<kAndName>);
const NodeRegistration kCast("Cast", ImportCast);
const NodeRegistration kEqual("Equal", ImportComparison<kEqualName>);
const NodeRegistration kGreater("Greater", ImportComparison<kGreaterName>);
const NodeRegistration kGreaterOrEqual("GreaterOrEqual", ImportComparison<kGreaterOrEqualName>);
const NodeRegistration kIsInf("IsInf", ImportIsInf);
const NodeRegistration kIsNan("IsNaN", ImportIsNan);
const NodeRegistration kLess("Less", ImportComparison<kLessName>);
const NodeRegistration kLessOrEqual("LessOrEqual", ImportComparison<kLessOrEqualName>);
const NodeRegistration kNot("Not", ImportNot);
const NodeRegistration kOr("Or", ImportLogic<kOrName>);
const NodeRegistration kWhere("Where", ImportWhere);
const NodeRegistration kXor("Xor", ImportLogic<kNotEqualName>);

}  // namespace

}  // namespace topdnn
