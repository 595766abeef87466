// Gemm and MatMul: inner products by constant weights, and products of computed matrices.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/inner_product/inner_product.h"
#include "kernels/matmul/matmul.h"
#include "kernels/transpose/transpose.h"
#include "networks/onnx/import/node_import.h"
#include "networks/onnx/nodes/binary_nodes.h"

namespace topdnn {

namespace {

struct InnerProduct {
  const ModelTensor& weights;
  bool transposed;  // stored as (outputs, inputs), like the operation's weights
  float alpha = 1.0F;
  Constant bias = nullptr;  // nullptr: no bias
  float beta = 1.0F;
  bool source_transposed = false;
  std::size_t input = 1;  // of the node: the weights
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

ImportedValue AddTransposed(NodeImport& node, const ImportedValue& value) {
  const ValueId matrix = node.Plain(value);
  const auto op = std::make_shared<TransposeOp>(node.ShapeOf(matrix), std::vector<int>{1, 0});
  return {node.AddLayer(op, {matrix}), op->dst_shape()};
}

// Adds beta times the constant `bias`, of any shape that broadcasts to the sum.
ImportedValue AddScaledMatrix(NodeImport& node, const ImportedValue& sum, const ModelTensor& bias,
                              float beta) {
  std::vector<double> values = ValuesOf(bias);
  for (double& element : values) element *= static_cast<double>(beta);
  return AddBinary(node, "add", sum, MakeTensor(bias.shape, DataType::kF32, std::move(values)));
}

// The product of a matrix by constant weights. Each row of the matrix may be an image.
ImportedValue AddInnerProduct(NodeImport& node, ImportedValue source, const InnerProduct& product) {
  const Shape& shape = product.weights.shape;
  if (shape.rank() != 2 || source.shape.rank() != 2) {
    throw UnsupportedNode(fmt::format("a product of {} by {}: topdnn supports only matrices",
                                      source.shape.ToString(), shape.ToString()));
  }
  if (product.source_transposed) source = AddTransposed(node, source);
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
    node.SetWeights(product.input, matrix);
  } else {
    FillWeights(product, outputs, inputs, node.NewParameter("weights", matrix));
  }
  if (has_bias) FillBias(product, outputs, node.NewParameter("bias", Shape{outputs}));
  ImportedValue sum{result, node.ShapeOf(result)};
  if (product.bias == nullptr || has_bias) return sum;
  return AddScaledMatrix(node, sum, *product.bias, product.beta);
}

Shape ShapeAt(const NodeImport& node, std::size_t input) {
  return node.IsConstant(input) ? node.ConstantAt(input).shape : node.SourceAt(input).shape;
}

// The shape with leading extents of 1, up to `rank` dimensions (at least 2). A vector becomes a row
// as the first source, and a column as the second.
Shape AsMatrices(const Shape& shape, int rank, bool first) {
  std::vector<std::int64_t> extents = shape.extents();
  if (extents.size() == 1) extents.insert(first ? extents.begin() : extents.end(), 1);
  extents.insert(extents.begin(), static_cast<std::size_t>(rank) - extents.size(), 1);
  return Shape(std::move(extents));
}

// A product of the first two inputs, in up to 12 dimensions. One of them may be constant.
ImportedValue AddProduct(NodeImport& node) {
  const Shape shapes[] = {ShapeAt(node, 0), ShapeAt(node, 1)};
  const int rank = std::max({shapes[0].rank(), shapes[1].rank(), 2});
  constexpr int kMaxDimensions = 12;
  if (std::min(shapes[0].rank(), shapes[1].rank()) < 1 || rank > kMaxDimensions) {
    throw UnsupportedNode(
        fmt::format("a product of {} by {}", shapes[0].ToString(), shapes[1].ToString()));
  }
  const BinaryConstant constant = node.IsConstant(0)   ? BinaryConstant::kFirst
                                  : node.IsConstant(1) ? BinaryConstant::kSecond
                                                       : BinaryConstant::kNone;
  std::vector<ValueId> sources;
  Shape of[2];
  for (std::size_t i = 0; i < 2; ++i) {
    of[i] = AsMatrices(shapes[i], rank, i == 0);
    if (node.IsConstant(i)) continue;
    ImportedValue value = node.SourceAt(i);
    value.shape = of[i];
    sources.push_back(node.Plain(value));
  }
  const auto op = std::make_shared<MatMulOp>(of[0], of[1], constant);
  const ValueId result = node.AddLayer(op, sources);
  if (constant != BinaryConstant::kNone) {
    const std::size_t i = constant == BinaryConstant::kFirst ? 0 : 1;
    node.SetParameter("constant", node.ConstantAt(i), of[i]);
  }
  std::vector<std::int64_t> extents = op->dst().extents();
  if (shapes[0].rank() == 1) extents.erase(extents.end() - 2);
  if (shapes[1].rank() == 1) extents.pop_back();
  return {result, Shape(std::move(extents))};
}

// The input as a matrix, transposed if the attribute says so.
ImportedValue MatrixAt(NodeImport& node, std::size_t input, const char* attribute) {
  const ImportedValue value = node.SourceAt(input);
  if (value.shape.rank() != 2) {
    throw UnsupportedNode(fmt::format("a matrix of {}", value.shape.ToString()));
  }
  return node.node().Int(attribute, 0) != 0 ? AddTransposed(node, value) : value;
}

// alpha A B, where the network computes B. (The caller adds beta C.) For a constant A it is an
// inner product between two transpositions: A B = (B' A')'.
ImportedValue AddGemmOfValues(NodeImport& node, float alpha) {
  const ImportedValue second = MatrixAt(node, 1, "transB");
  ImportedValue product;
  if (node.IsConstant(0)) {
    InnerProduct turned{node.ConstantAt(0), node.node().Int("transA", 0) == 0};
    turned.input = 0;
    product = AddTransposed(node, AddInnerProduct(node, AddTransposed(node, second), turned));
  } else {
    const ImportedValue first = MatrixAt(node, 0, "transA");
    const std::vector<ValueId> sources = {node.Plain(first), node.Plain(second)};
    const auto op = std::make_shared<MatMulOp>(first.shape, second.shape, BinaryConstant::kNone);
    product = {node.AddLayer(op, sources), op->dst()};
  }
  return alpha == 1.0F ? product
                       : AddBinary(node, "mul", product, ScalarTensor(static_cast<double>(alpha)));
}

void ImportGemm(NodeImport& node) {
  const float alpha = node.node().Float("alpha", 1.0F);
  const float beta = node.node().Float("beta", 1.0F);
  if (!std::isfinite(alpha) || !std::isfinite(beta)) {
    throw UnsupportedNode("alpha or beta is not finite");
  }
  ImportedValue result;
  if (node.IsConstant(1)) {
    InnerProduct product{node.ConstantAt(1), node.node().Int("transB", 0) != 0};
    product.source_transposed = node.node().Int("transA", 0) != 0;
    product.alpha = alpha;
    product.beta = beta;
    if (node.IsConstant(2)) product.bias = Constant(Constant(), &node.ConstantAt(2));  // not a copy
    result = AddInnerProduct(node, node.SourceAt(0), product);
  } else {
    result = AddGemmOfValues(node, alpha);
    if (node.IsConstant(2)) result = AddScaledMatrix(node, result, node.ConstantAt(2), beta);
  }
  if (node.Has(2) && !node.IsConstant(2)) {
    ImportedValue bias = node.SourceAt(2);
    if (beta != 1.0F) {
      bias = AddBinary(node, "mul", bias, ScalarTensor(static_cast<double>(beta)));
    }
    result = AddBinary(node, "add", result, bias);
  }
  node.Produce(std::move(result));
}

void ImportMatMul(NodeImport& node) {
  if (!node.IsConstant(1) || node.ConstantAt(1).shape.rank() != 2 || node.IsConstant(0) ||
      node.SourceAt(0).shape.rank() < 2) {
    node.Produce(AddProduct(node));
    return;
  }
  // A source of several matrices becomes one matrix with all their rows.
  InnerProduct product{node.ConstantAt(1), false};
  const std::int64_t outputs = product.weights.shape[1];
  ImportedValue source = node.SourceAt(0);
  std::vector<std::int64_t> extents = source.shape.extents();
  const std::int64_t inputs = extents.back();
  if (extents.size() > 2 && inputs > 0) {
    source.shape = Shape{source.shape.elements() / inputs, inputs};
  }
  product.bias = node.AbsorbBias(outputs, 0);
  ImportedValue result = AddInnerProduct(node, source, product);
  extents.back() = outputs;
  result.shape = Shape(std::move(extents));
  node.Produce(std::move(result));
}

const NodeRegistration kGemm("Gemm", ImportGemm);
const NodeRegistration kMatMul("MatMul", ImportMatMul);

}  // namespace

}  // namespace topdnn
