#include "networks/onnx/nodes/unary_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "kernels/eltwise/unary.h"
#include "networks/onnx/import/node_import.h"

namespace topdnn {

namespace {

constexpr UnaryNode kUnaryNodes[] = {
    {"Abs", "abs"},
    {"Acos", "acos"},
    {"Acosh", "acosh"},
    {"Asin", "asin"},
    {"Asinh", "asinh"},
    {"Atan", "atan"},
    {"Atanh", "atanh"},
    {"Ceil", "ceil"},
    {"Celu", "celu", "alpha", "", 12},
    {"Cos", "cos"},
    {"Cosh", "cosh"},
    {"Elu", "elu", "alpha"},
    {"Erf", "erf"},
    {"Exp", "exp"},
    {"Floor", "floor"},
    {"Gelu", "gelu", "", "", 20},
    {"HardSwish", "hard_swish", "", "", 14},
    {"LeakyRelu", "leaky_relu", "alpha"},
    {"Log", "log"},
    {"Mish", "mish", "", "", 18},
    {"Neg", "neg"},
    {"Reciprocal", "reciprocal"},
    {"Round", "round"},
    {"Selu", "selu", "alpha", "gamma"},
    {"Shrink", "shrink", "bias", "lambd"},
    {"Sign", "sign"},
    {"Sin", "sin"},
    {"Sinh", "sinh"},
    {"Softplus", "softplus"},
    {"Softsign", "softsign"},
    {"Sqrt", "sqrt"},
    {"Tan", "tan"},
    {"Tanh", "tanh"},
    {"ThresholdedRelu", "thresholded_relu", "alpha"},
};

void ImportUnary(NodeImport& node) {
  const ModelNode& model_node = node.node();
  const auto* row =
      std::find_if(std::begin(kUnaryNodes), std::end(kUnaryNodes),
                   [&](const UnaryNode& one) { return one.op_type == model_node.op_type; });
  const UnaryFunction* function = FindUnaryFunction(row->function);
  if (model_node.op_type == "Gelu") {
    const std::string approximate = model_node.String("approximate", "none");
    if (approximate == "tanh") {
      function = FindUnaryFunction("gelu_tanh");
    } else if (approximate != "none") {
      throw UnsupportedNode(fmt::format("approximate {}", Printable(approximate)));
    }
  }
  const auto number = [&](const char* attribute, float otherwise) {
    return *attribute == '\0' ? otherwise : model_node.Float(attribute, otherwise);
  };
  // These keep integers exact.
  const std::string& op_type = model_node.op_type;
  const bool keeps_integers = op_type == "Abs" || op_type == "Neg" || op_type == "Sign";
  ImportedValue value = keeps_integers ? node.AnySourceAt(0) : node.SourceAt(0);
  if (!keeps_integers) value.most.reset();
  const ValueId source = node.Elements(value);
  value.value = node.AddLayer(std::make_shared<UnaryOp>(*function, node.ShapeOf(source),
                                                        number(row->alpha, function->alpha),
                                                        number(row->beta, function->beta)),
                              {source});
  node.Produce(std::move(value));
}

const bool kUnaryNodesAreRegistered = [] {
  for (const UnaryNode& row : kUnaryNodes)
    const NodeRegistration registration(row.op_type, ImportUnary);
  return true;
}();

}  // namespace

std::span<const UnaryNode> UnaryNodes() { return kUnaryNodes; }

}  // namespace topdnn
