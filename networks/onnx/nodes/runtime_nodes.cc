// Operations of com.microsoft, which ONNX Runtime's quantizer and optimizer write: QLinearAdd and
// others on quantized values, and FusedConv.

#include <fmt/format.h>

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "networks/onnx/import/node_import.h"
#include "networks/onnx/nodes/integer_layers.h"

namespace topdnn {

namespace {

// An input and its scale; the zero point follows the scale.
struct QuantizedInput {
  std::size_t input, scale;
};

// The type of a quantized input, which the result has if it has no zero point.
std::int64_t TypeOfInput(const NodeImport& node, std::size_t input) {
  return node.IsConstant(input) ? OnnxTypeOf(node.ConstantAt(input))
                                : node.QuantizedSourceAt(input).type;
}

// The operation on real numbers, between the quantizations of its inputs and its result.
void ImportOnReals(NodeImport& node, std::string_view op_type,
                   const std::vector<QuantizedInput>& inputs, std::size_t result_scale) {
  if (node.node().Int("channels_last", 0) != 0) throw UnsupportedNode("channels last");
  std::vector<NamedValue> reals;
  reals.reserve(inputs.size());
  for (const QuantizedInput& one : inputs) reals.push_back(RealsAt(node, one.input, one.scale));
  const ValueQuantization to =
      ValueQuantizationAt(node, result_scale, TypeOfInput(node, inputs.front().input));
  ProduceQuantized(node, node.ImportAs(op_type, std::move(reals)), to);
}

template <const char* kOperation>
void ImportQLinearBinary(NodeImport& node) {
  ImportOnReals(node, kOperation, {{0, 1}, {3, 4}}, 6);
}

template <const char* kOperation>
void ImportQLinearUnary(NodeImport& node) {
  ImportOnReals(node, kOperation, {{0, 1}}, 3);
}

// The scale and zero point of the result come first.
void ImportQLinearConcat(NodeImport& node) {
  std::vector<QuantizedInput> inputs;
  for (std::size_t i = 2; i + 1 < node.inputs(); i += 3) inputs.push_back({i, i + 1});
  if (inputs.empty()) throw UnsupportedNode("no inputs");
  ImportOnReals(node, "Concat", inputs, 0);
}

ModelAttribute FloatAttribute(float value) {
  ModelAttribute attribute;
  attribute.f = value;
  return attribute;
}

// The function behind a fused convolution. Its parameters are in `activation_params`.
ImportedValue AddActivation(NodeImport& node, const ImportedValue& value) {
  const std::string activation = node.node().String("activation", "");
  const auto found = node.node().attributes.find("activation_params");
  std::vector<float> parameters;
  if (found != node.node().attributes.end()) parameters = found->second.floats;
  const std::map<std::string, std::vector<std::string>> known = {
      {"Relu", {}}, {"Sigmoid", {}},          {"Tanh", {}},
      {"Clip", {}}, {"LeakyRelu", {"alpha"}}, {"HardSigmoid", {"alpha", "beta"}}};
  const auto names = known.find(activation);
  if (names == known.end() || parameters.size() < names->second.size()) {
    throw UnsupportedNode(fmt::format("the activation {}", Printable(activation)));
  }
  std::vector<NamedValue> inputs = {value};
  std::map<std::string, ModelAttribute> attributes;
  for (std::size_t i = 0; i < names->second.size(); ++i) {
    attributes[names->second[i]] = FloatAttribute(parameters[i]);
  }
  if (activation == "Clip") {
    if (parameters.size() != 2) throw UnsupportedNode("a Clip without two bounds");
    for (std::size_t i = 0; i < 2; ++i) {
      attributes[i == 0 ? "min" : "max"] = FloatAttribute(parameters[i]);  // before opset 11
      inputs.emplace_back(std::make_shared<ModelTensor>(
          MakeTensor({}, DataType::kF32, {static_cast<double>(parameters[i])})));
    }
  }
  return node.ImportAs(activation, std::move(inputs), std::move(attributes));
}

// A convolution, an addition of the fourth input if there is one, and an activation.
void ImportFusedConv(NodeImport& node) {
  std::vector<NamedValue> inputs = {node.SourceAt(0), node.OperandAt(1)};
  if (node.Has(2)) inputs.push_back(node.OperandAt(2));
  ImportedValue value = node.ImportAs("Conv", std::move(inputs));
  if (node.Has(3)) value = node.ImportAs("Add", {value, node.OperandAt(3)});
  node.Produce(AddActivation(node, value));
}

constexpr char kAddName[] = "Add", kAveragePoolName[] = "AveragePool",
               kGlobalAveragePoolName[] = "GlobalAveragePool", kLeakyReluName[] = "LeakyRelu",
               kMulName[] = "Mul", kSigmoidName[] = "Sigmoid";

const NodeRegistration kFusedConv("com.microsoft::FusedConv", ImportFusedConv);
const NodeRegistration kQLinearAdd("com.microsoft::QLinearAdd", ImportQLinearBinary<kAddName>);
const NodeRegistration kQLinearAveragePool("com.microsoft::QLinearAveragePool",
                                           ImportQLinearUnary<kAveragePoolName>);
const NodeRegistration kQLinearConcat("com.microsoft::QLinearConcat", ImportQLinearConcat);
const NodeRegistration kQLinearGlobalAveragePool("com.microsoft::QLinearGlobalAveragePool",
                                                 ImportQLinearUnary<kGlobalAveragePoolName>);
const NodeRegistration kQLinearLeakyRelu("com.microsoft::QLinearLeakyRelu",
                                         ImportQLinearUnary<kLeakyReluName>);
const NodeRegistration kQLinearMul("com.microsoft::QLinearMul", ImportQLinearBinary<kMulName>);
const NodeRegistration kQLinearSigmoid("com.microsoft::QLinearSigmoid",
                                       ImportQLinearUnary<kSigmoidName>);

}  // namespace

}  // namespace topdnn
