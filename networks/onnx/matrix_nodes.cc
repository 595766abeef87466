// Gemm and MatMul by a constant matrix: inner products.

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/inner_product/inner_product.h"
#include "kernels/transpose/transpose.h"
#include "networks/onnx/binary_nodes.h"
#include "networks/onnx/node_import.h"

namespace topdnn {

namespace {

struct InnerProduct {
  const ModelTensor& weights;
  bool transposed;  // stored as (outputs, inputs), like the operation's weights
  float alpha = 1.0F;
  Constant bias = nullptr;  // nullptr: no bias
  float beta = 1.0F;
  bool source_transposed = false;
};

// Scales the weights, and transposes them to (outputs, inputs).
void FillWeights(const InnerProduct& product, std::int64_t outputs, std::int64_t inputs,
                 Tensor& weights) {
  const std::vector<double> values = ValuesOf(product.weights);
  auto* dst = weights.as<float>();
  const auto alpha = static_cast<double>(product.alpha);
  for (std::int64_t o = 0; o < outputs; ++o) {
    for (std::int64_t i = 0; i < inputs; ++i) {
      const std::int64_t from = product.transposed ? o * inputs + i : i * outputs + o;
      dst[o * inputs + i] = static_cast<float>(alpha * values[static_cast<std::size_t>(from)]);
    }
  }
}

// Whether the bias has one element for each output, or one for all.
bool IsVector(const Shape& bias, std::int64_t outputs) {
  return bias.elements() == 1 ||
         (bias.elements() == outputs && bias.rank() <= 2 && bias[bias.rank() - 1] == outputs);
}

// A bias of one element applies to all outputs.
void FillBias(const InnerProduct& product, std::int64_t outputs, Tensor& bias) {
  const std::vector<double> values = ValuesOf(*product.bias);
  for (std::int64_t o = 0; o < outputs; ++o) {
    const double value = values[values.size() == 1 ? 0 : static_cast<std::size_t>(o)];
    bias.as<float>()[o] = static_cast<float>(static_cast<double>(product.beta) * value);
  }
}

void AddInnerProduct(NodeImport& node, const InnerProduct& product) {
  const Shape& shape = product.weights.shape;
  ImportedValue source = node.SourceAt(0);
  if (shape.rank() != 2 || source.shape.rank() != 2) {
    throw UnsupportedNode(fmt::format("a product of {} by {}: topdnn supports only matrices",
                                      source.shape.ToString(), shape.ToString()));
  }
  if (product.source_transposed) {
    const ValueId matrix = node.Plain(source);
    const auto op = std::make_shared<TransposeOp>(node.ShapeOf(matrix), std::vector<int>{1, 0});
    source = {node.AddLayer(op, {matrix}), op->dst_shape()};
  }
  const std::int64_t inputs = shape[product.transposed ? 1 : 0];
  const std::int64_t outputs = shape[product.transposed ? 0 : 1];
  if (inputs != source.shape[1]) {
    throw UnsupportedNode(fmt::format("a product of {} by {}: the extents do not match",
                                      source.shape.ToString(), shape.ToString()));
  }
  const bool has_bias = product.bias != nullptr && IsVector(product.bias->shape, outputs);
  // An inner product reads an image directly. Other flattened tensors need a flattening layer.
  const Shape& image = node.ShapeOf(node.Elements(source));
  const bool as_it_is = image.rank() == 4 && image[0] == source.shape[0];
  const ValueId value = as_it_is ? source.value : node.Plain(source);
  const InnerProductEpilogue epilogue{.bias = has_bias};
  const auto op = std::make_shared<InnerProductOp>(node.ShapeOf(value), outputs, epilogue);
  const ValueId result = node.AddLayer(op, {value});
  const Shape matrix{outputs, inputs};  // shape of the parameter, with an image flattened
  if (product.transposed && product.alpha == 1.0F) {
    node.SetParameter("weights", product.weights, matrix);
  } else {
    FillWeights(product, outputs, inputs, node.NewParameter("weights", matrix));
  }
  if (has_bias) FillBias(product, outputs, node.NewParameter("bias", Shape{outputs}));
  const ImportedValue sum{result, node.ShapeOf(result)};
  if (product.bias == nullptr || has_bias) {
    node.Produce(sum);
    return;
  }
  std::vector<double> values = ValuesOf(*product.bias);
  for (double& element : values) element *= static_cast<double>(product.beta);
  node.Produce(AddBinary(node, "add", sum,
                         MakeTensor(product.bias->shape, DataType::kF32, std::move(values))));
}

void ImportGemm(NodeImport& node) {
  InnerProduct product{node.ConstantAt(1), node.node().Int("transB", 0) != 0};
  product.source_transposed = node.node().Int("transA", 0) != 0;
  product.alpha = node.node().Float("alpha", 1.0F);
  product.beta = node.node().Float("beta", 1.0F);
  if (!std::isfinite(product.alpha) || !std::isfinite(product.beta)) {
    throw UnsupportedNode("alpha or beta is not finite");
  }
  if (node.Has(2)) product.bias = Constant(Constant(), &node.ConstantAt(2));  // not a copy
  AddInnerProduct(node, product);
}

void ImportMatMul(NodeImport& node) {
  InnerProduct product{node.ConstantAt(1), false};
  const Shape& shape = product.weights.shape;
  if (shape.rank() == 2) product.bias = node.AbsorbBias(shape[1], 0);
  AddInnerProduct(node, product);
}

const NodeRegistration kGemm("Gemm", ImportGemm);
const NodeRegistration kMatMul("MatMul", ImportMatMul);

}  // namespace

}  // namespace topdnn
