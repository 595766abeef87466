// Div, Max, Mean, Min, Mod, Pow, PRelu and Sub. Add and Mul are in elementwise_nodes.cc.

#include "networks/onnx/nodes/binary_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/eltwise/binary.h"
#include "kernels/eltwise/unary.h"

namespace topdnn {

namespace {

// The shape with leading extents of 1.
Shape WithRank(const Shape& shape, int rank) {
  std::vector<std::int64_t> extents(static_cast<std::size_t>(rank - shape.rank()), 1);
  extents.insert(extents.end(), shape.extents().begin(), shape.extents().end());
  return Shape(std::move(extents));
}

int CommonRank(const Shape& first, const Shape& second) {
  return std::max({first.rank(), second.rank(), 1});
}

// A layer's operands have at least one dimension, but the result of two scalars is a scalar.
Shape ResultShape(const Shape& computed, const Shape& first, const Shape& second) {
  return first.rank() == 0 && second.rank() == 0 ? Shape{} : computed;
}

ImportedValue WithRank(ImportedValue value, int rank) {
  value.shape = WithRank(value.shape, rank);
  return value;
}

ImportedValue AddWithConstant(NodeImport& node, std::string_view function,
                              const ImportedValue& value, const ModelTensor& constant,
                              BinaryConstant place) {
  const int rank = CommonRank(value.shape, constant.shape);
  const ValueId source = node.Plain(WithRank(value, rank));
  const Shape of_constant = WithRank(constant.shape, rank);
  const bool first = place == BinaryConstant::kFirst;
  const auto op = std::make_shared<BinaryOp>(*FindBinaryFunction(function),
                                             first ? of_constant : node.ShapeOf(source),
                                             first ? node.ShapeOf(source) : of_constant, place);
  const ValueId result = node.AddLayer(op, {source});
  node.SetParameter("constant", constant, of_constant);
  return {result, ResultShape(op->dst(), value.shape, constant.shape)};
}

}  // namespace

ImportedValue AddUnary(NodeImport& node, std::string_view function, const ImportedValue& value) {
  const ValueId source = node.Elements(value);
  const auto op = std::make_shared<UnaryOp>(function, node.ShapeOf(source));
  ImportedValue result = value;
  // (others change the size of a float, which a Cast may make an integer again)
  constexpr std::array<std::string_view, 4> kNeverLarger = {"abs", "neg", "sign", "trunc"};
  if (std::find(kNeverLarger.begin(), kNeverLarger.end(), function) == kNeverLarger.end()) {
    result.most.reset();
  }
  result.value = node.AddLayer(op, {source});
  return result;
}

ImportedValue AddBinary(NodeImport& node, std::string_view function, const ImportedValue& first,
                        const ImportedValue& second) {
  const int rank = CommonRank(first.shape, second.shape);
  const ValueId a = node.Plain(WithRank(first, rank));
  const ValueId b = node.Plain(WithRank(second, rank));
  const auto op = std::make_shared<BinaryOp>(*FindBinaryFunction(function), node.ShapeOf(a),
                                             node.ShapeOf(b), BinaryConstant::kNone);
  return {node.AddLayer(op, {a, b}), ResultShape(op->dst(), first.shape, second.shape)};
}

ImportedValue AddBinary(NodeImport& node, std::string_view function, const ImportedValue& first,
                        const ModelTensor& second) {
  return AddWithConstant(node, function, first, second, BinaryConstant::kSecond);
}

ImportedValue AddBinary(NodeImport& node, std::string_view function, const ModelTensor& first,
                        const ImportedValue& second) {
  return AddWithConstant(node, function, second, first, BinaryConstant::kFirst);
}

ImportedValue AddBinaryOfInputs(NodeImport& node, std::string_view function, std::size_t first,
                                std::size_t second) {
  if (node.IsConstant(second)) {
    return AddBinary(node, function, node.AnySourceAt(first), node.ConstantAt(second));
  }
  if (node.IsConstant(first)) {
    return AddBinary(node, function, node.ConstantAt(first), node.AnySourceAt(second));
  }
  return AddBinary(node, function, node.AnySourceAt(first), node.AnySourceAt(second));
}

std::optional<double> MostOf(const ImportedValue& value) {
  switch (value.type) {
    case kOnnxBool:
      return 1;
    case kOnnxUint8:
      return 255;
    case kOnnxInt8:
      return 128;
    default:
      return value.most;
  }
}

namespace {

bool IsInteger(std::int64_t type) { return type == kOnnxInt32 || type == kOnnxInt64; }

std::optional<double> MostAt(const NodeImport& node, std::size_t input) {
  if (!node.IsConstant(input)) {
    const ImportedValue value = node.AnySourceAt(input);
    return value.steps.empty() ? MostOf(value) : std::nullopt;
  }
  double most = 0;
  for (const double x : ValuesOf(node.ConstantAt(input))) most = std::max(most, std::abs(x));
  return most;
}

// Adds a step to those that are pending, if the node has a value and a constant operand that fits.
bool PostponedStep(NodeImport& node, std::string_view function, std::size_t value_input) {
  const std::size_t other = 1 - value_input;
  const bool ordered = function == "sub" || function == "div";
  if (node.is_of_constants() || !node.IsConstant(other) || (ordered && value_input != 0) ||
      !node.IsReadOnlyBy({"Add", "Cast", "Clip", "Div", "Mul", "Sub"})) {
    return false;
  }
  ImportedValue value = node.AnySourceAt(value_input);
  const ModelTensor& operand = node.ConstantAt(other);
  const int rank = value.shape.rank(), axis = operand.shape.rank() - rank + 1;
  if (operand.shape.rank() > rank) return false;
  const bool by_channel = rank > 1 && (axis == 0 || axis == 1) &&
                          operand.shape[axis] == value.shape[1] &&
                          operand.elements() == value.shape[1];
  if (!IsInteger(OnnxTypeOf(operand)) || !(operand.elements() == 1 || by_channel)) return false;
  const IntegerStep step = function == "add"   ? IntegerStep::kAdd
                           : function == "sub" ? IntegerStep::kSub
                           : function == "mul" ? IntegerStep::kMul
                                               : IntegerStep::kDiv;
  value.steps.push_back({step, std::make_shared<ModelTensor>(operand)});
  value.most.reset();
  node.Produce(std::move(value));
  return true;
}

void CheckDivisors(const NodeImport& node) {
  if (!node.IsConstant(1)) return;
  const std::vector<double> divisors = ValuesOf(node.ConstantAt(1));
  if (std::count(divisors.begin(), divisors.end(), 0.0) > 0) {
    throw UnsupportedNode("a division of integers by 0");
  }
}

}  // namespace

bool ImportedOnIntegers(NodeImport& node, std::string_view function) {
  const bool divides = function == "div";
  const bool known = divides || function == "add" || function == "sub" || function == "mul";
  if (!known || node.inputs() != 2) return false;
  const auto is_integer = [&](std::size_t i) {
    return !node.IsConstant(i) && IsInteger(node.AnySourceAt(i).type);
  };
  const std::size_t value_input = is_integer(0) ? 0 : 1;
  if (!is_integer(value_input)) return false;
  if (divides) CheckDivisors(node);
  const std::optional<double> first = MostAt(node, 0), second = MostAt(node, 1);
  double most = 0;
  bool exact = first && second;
  if (exact) {
    most = function == "mul" ? *first * *second : divides ? *first : *first + *second;
    // A quotient of larger numbers may round up to an integer.
    exact = std::max({*first, *second, most}) <= node.most_exact() / (divides ? 4 : 1);
  }
  if (!exact && PostponedStep(node, function, value_input)) return true;
  if (!first || !second) {
    throw UnsupportedNode(
        fmt::format("its input {} is of integers of unknown size: f32 may not represent the result",
                    first ? 1 : 0));
  }
  if (!exact) {
    throw UnsupportedNode(fmt::format("its result may reach {:.0f}, and {} is exact up to 2^{}",
                                      most, node.is_of_constants() ? "f64" : "f32",
                                      std::ilogb(node.most_exact())));
  }
  const std::int64_t type = node.AnySourceAt(value_input).type;
  ImportedValue result = AddBinaryOfInputs(node, function, 0, 1);
  if (divides) result = AddUnary(node, "trunc", result);
  result.type = type;
  result.most = most;
  node.Produce(std::move(result));
  return true;
}

ImportedValue AddIntegerSteps(NodeImport& node, const ImportedValue& value) {
  ImportedValue result = value;
  result.steps.clear();
  const ValueId source = node.Plain(result);
  std::int64_t channels = 1;
  std::vector<IntegerStep> steps;
  for (const ModelStep& one : value.steps) {
    steps.push_back(one.step);
    channels = std::max(channels, one.operand->elements());
  }
  std::vector<double> operands;
  for (const ModelStep& one : value.steps) {
    const std::vector<double> own = ValuesOf(*one.operand);
    for (std::int64_t c = 0; c < channels; ++c) {
      operands.push_back(own[own.size() == 1 ? 0 : static_cast<std::size_t>(c)]);
    }
  }
  const Shape shape{static_cast<std::int64_t>(steps.size()), channels};
  const auto op =
      std::make_shared<IntegerStepsOp>(node.ShapeOf(source), std::move(steps), channels);
  result.value = node.AddLayer(op, {source});
  node.SetParameter("constant", MakeTensor(shape, DataType::kS64, std::move(operands)), shape);
  return result;
}

ModelTensor ScalarTensor(double value) { return MakeTensor({}, DataType::kF32, {value}); }

namespace {

constexpr char kDivName[] = "div", kMaxName[] = "max", kMinName[] = "min", kPowName[] = "pow",
               kPreluName[] = "prelu", kSubName[] = "sub";

// Each node with two inputs.
template <const char* kFunction>
void ImportBinary(NodeImport& node) {
  if (node.inputs() != 2) throw UnsupportedNode("it needs two inputs");
  if (ImportedOnIntegers(node, kFunction)) return;
  for (std::size_t i = 0; i < 2; ++i) {
    if (!node.IsConstant(i)) static_cast<void>(node.SourceAt(i));  // throws if it is not of float
  }
  // Pow's exponent may have another type than its base. The result has the type of the base.
  if (node.IsConstant(0) && UnitRoundoff(node.ConstantAt(0).type) == 0) {
    throw UnsupportedNode("its first input is of integers, which round the result");
  }
  node.Produce(AddBinaryOfInputs(node, kFunction, 0, 1));
}

// Integers only on constants. The result then has the type of the base.
void ImportPow(NodeImport& node) {
  if (!node.is_of_constants() || !IsInteger(node.AnySourceAt(0).type)) {
    ImportBinary<kPowName>(node);
    return;
  }
  const ImportedValue base = node.ExactSourceAt(0);
  const std::vector<double> exponents = ValuesOf(node.ConstantAt(1));
  const bool whole = std::all_of(exponents.begin(), exponents.end(),
                                 [](double x) { return x >= 0 && x == std::trunc(x); });
  const double most = std::pow(std::max(base.most.value_or(0), 1.0), MostAt(node, 1).value_or(0));
  if (!whole || !(most <= node.most_exact())) {
    throw UnsupportedNode("a power of integers that may not be exact");
  }
  ImportedValue result = AddBinary(node, "pow", base, node.ConstantAt(1));
  result.type = base.type;
  node.Produce(std::move(result));
}

void ImportMod(NodeImport& node) {
  const bool fmod = node.node().Int("fmod", 0) != 0;
  const std::int64_t type = node.AnySourceAt(node.IsConstant(0) ? 1 : 0).type;
  if (!fmod && type == kOnnxFloat) throw UnsupportedNode("fmod 0 is for integers");
  ImportedValue result = AddBinaryOfInputs(node, fmod ? "fmod" : "mod", 0, 1);
  result.type = type;
  if (!fmod && node.IsConstant(1)) {
    double most = 0;
    for (const double divisor : ValuesOf(node.ConstantAt(1))) {
      most = std::max(most, std::abs(divisor));
    }
    result.most = most;
  }
  node.Produce(std::move(result));
}

// Applies the function to all inputs, one after the other: first the values, then the constants. At
// least one input must be a value. A maximum or minimum of integers is exact.
ImportedValue AddChain(NodeImport& node, std::string_view function) {
  std::vector<std::size_t> values, constants;
  for (std::size_t i = 0; i < node.inputs(); ++i) {
    (node.IsConstant(i) ? constants : values).push_back(i);
  }
  if (values.empty()) throw UnsupportedNode("it computes on constants alone");
  const bool chooses = function == "max" || function == "min";
  const auto source_at = [&](std::size_t i) {
    return chooses ? node.AnySourceAt(i) : node.SourceAt(i);
  };
  ImportedValue result = source_at(values.front());
  const std::int64_t type = result.type;
  for (std::size_t i = 1; i < values.size(); ++i) {
    result = AddBinary(node, function, result, source_at(values[i]));
  }
  for (const std::size_t i : constants) {
    result = AddBinary(node, function, result, node.ConstantAt(i));
  }
  result.type = type;
  return result;
}

template <const char* kFunction>
void ImportChain(NodeImport& node) {
  node.Produce(AddChain(node, kFunction));
}

void ImportMean(NodeImport& node) {
  const ImportedValue sum = AddChain(node, "add");
  if (node.inputs() == 1) {
    node.Produce(sum);
    return;
  }
  const auto count = static_cast<double>(node.inputs());
  node.Produce(AddBinary(node, "div", sum, ScalarTensor(count)));
}

const NodeRegistration kDiv("Div", ImportBinary<kDivName>);
const NodeRegistration kMax("Max", ImportChain<kMaxName>);
const NodeRegistration kMean("Mean", ImportMean);
const NodeRegistration kMin("Min", ImportChain<kMinName>);
const NodeRegistration kMod("Mod", ImportMod);
const NodeRegistration kPow("Pow", ImportPow);
const NodeRegistration kPrelu("PRelu", ImportBinary<kPreluName>);
const NodeRegistration kSub("Sub", ImportBinary<kSubName>);

}  // namespace

}  // namespace topdnn
