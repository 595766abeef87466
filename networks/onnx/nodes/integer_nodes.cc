// Operations on quantized values: ConvInteger, MatMulInteger, QLinearConv, QLinearMatMul, ONNX
// Runtime's QGemm, and DynamicQuantizeLinear.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "networks/onnx/import/node_import.h"
#include "networks/onnx/nodes/binary_nodes.h"
#include "networks/onnx/nodes/composed_nodes.h"
#include "networks/onnx/nodes/integer_layers.h"

namespace topdnn {

namespace {

constexpr double kLargestExact = 16777216;  // f32 represents all whole numbers up to 2^24
constexpr double kLargestCentred = 255;     // |integer - zero point| of u8 and s8

// Weights minus their zero points, in f32, with the shape (outer, channels, inner), where each
// channel has its own zero point, or all have the same.
struct CentredWeights {
  Shape shape;
  std::vector<double> values;
  std::int64_t channels = 0, inner = 0;

  std::size_t ChannelOf(std::size_t i) const {
    return static_cast<std::size_t>(static_cast<std::int64_t>(i) / inner % channels);
  }
  Constant Tensor() const {
    return std::make_shared<ModelTensor>(MakeTensor(shape, DataType::kF32, values));
  }
};

std::vector<double> ByChannel(const NodeImport& node, std::size_t input, std::int64_t channels,
                              double otherwise) {
  if (!node.Has(input)) return std::vector<double>(static_cast<std::size_t>(channels), otherwise);
  std::vector<double> values = ValuesOf(node.ConstantAt(input));
  if (values.size() == 1) values.assign(static_cast<std::size_t>(channels), values.front());
  if (static_cast<std::int64_t>(values.size()) != channels) {
    throw UnsupportedNode(
        fmt::format("{} numbers for {} channels in its input {}", values.size(), channels, input));
  }
  return values;
}

// The channels are the first dimension (a convolution), or the last one (a matrix).
CentredWeights WeightsAt(NodeImport& node, std::size_t input, std::size_t zero_input,
                         bool channels_first) {
  const ModelTensor& weights = node.ConstantAt(input);
  if (weights.type != DataType::kU8 && weights.type != DataType::kS8) {
    throw UnsupportedNode(fmt::format("weights of {}", NameOf(weights.type)));
  }
  if (weights.shape.rank() < 2 || weights.elements() < 1) {
    throw UnsupportedNode(fmt::format("weights of {}", weights.shape.ToString()));
  }
  node.ReserveMemory(weights.shape, DataType::kF64);
  CentredWeights centred{weights.shape, ValuesOf(weights)};
  centred.channels = weights.shape[channels_first ? 0 : weights.shape.rank() - 1];
  centred.inner = channels_first ? weights.elements() / centred.channels : 1;
  const std::vector<double> zeros = ByChannel(node, zero_input, centred.channels, 0);
  for (std::size_t i = 0; i < centred.values.size(); ++i) {
    centred.values[i] -= zeros[centred.ChannelOf(i)];
  }
  return centred;
}

// Refuses sums of products that f32 may round. `bias` is the largest number that is added.
void CheckExact(const CentredWeights& weights, double bias) {
  std::vector<double> sums(static_cast<std::size_t>(weights.channels), bias);
  for (std::size_t i = 0; i < weights.values.size(); ++i) {
    sums[weights.ChannelOf(i)] += std::abs(weights.values[i]) * kLargestCentred;
  }
  if (const double most = *std::max_element(sums.begin(), sums.end()); most > kLargestExact) {
    throw UnsupportedNode(
        fmt::format("its sums of integers may reach {:.0f}, and f32 is exact up to 2^24; quantize "
                    "the model symmetrically in the form with DequantizeLinear",
                    most));
  }
}

// The whole numbers of a value minus their zero point.
ImportedValue CentredAt(NodeImport& node, std::size_t input, std::size_t zero_input) {
  const ImportedValue value = node.QuantizedSourceAt(input);
  if (value.type != kOnnxUint8 && value.type != kOnnxInt8) {
    throw UnsupportedNode(fmt::format("its input {} is of {}", input, NameOfOnnxType(value.type)));
  }
  ImportedValue whole = AddWholeNumbers(node, value);
  if (node.Has(zero_input)) {
    const auto check = [&](std::int64_t elements) {
      if (elements == 1) return;
      throw UnsupportedNode(fmt::format("{} zero points of a value", elements));
    };
    if (node.IsConstant(zero_input)) {
      const ModelTensor& zero = node.ConstantAt(zero_input);
      check(zero.elements());
      const double number = ValuesOf(zero).front();
      if (number != 0) whole = AddBinary(node, "sub", whole, ScalarTensor(number));
    } else {
      ImportedValue zero = node.AnySourceAt(zero_input);
      check(zero.shape.elements());
      zero.shape = Shape{};
      whole = AddBinary(node, "sub", whole, zero);
    }
  }
  whole.type = kOnnxFloat;
  return whole;
}

void ProduceSums(NodeImport& node, std::string_view op_type, bool channels_first) {
  const CentredWeights weights = WeightsAt(node, 1, 3, channels_first);
  CheckExact(weights, 0);
  ImportedValue sums = node.ImportAs(op_type, {CentredAt(node, 0, 2), weights.Tensor()});
  sums.type = kOnnxInt32;
  node.Produce(std::move(sums));
}

void ImportConvInteger(NodeImport& node) { ProduceSums(node, "Conv", true); }
void ImportMatMulInteger(NodeImport& node) { ProduceSums(node, "MatMul", false); }

std::vector<double> WeightScalesAt(const NodeImport& node, std::int64_t channels) {
  std::vector<double> scales = ByChannel(node, 4, channels, 1);
  for (const double scale : scales) {
    if (!(scale > 0) || !std::isfinite(scale)) {
      throw UnsupportedNode("a scale that is not above 0 and finite");
    }
  }
  return scales;
}

// How QLinearConv, QLinearMatMul and QGemm differ.
struct QLinearLayer {
  std::string_view op_type;  // of the same layer on real numbers
  bool channels_first;       // in the weights
  int trailing;              // dimensions of the result after the channels
  std::size_t bias_input = 8, result_input = 6;
};

// The layer on real numbers between a quantization and the next one, which IntegerGraph replaces by
// one that sums in integers.
ImportedValue AddRealLayer(NodeImport& node, const QLinearLayer& layer, ImportedValue source,
                           const CentredWeights& weights, const std::vector<double>& scales,
                           const std::vector<double>& bias) {
  const GraphNode* producer = node.graph().ProducerOf(source.value);
  const auto* before =
      producer == nullptr ? nullptr : dynamic_cast<const QuantizeOp*>(producer->op.get());
  const Quantization quantization = *source.quantized;
  if (before == nullptr) source = AddQuantizedReals(node, source, quantization, source.type);
  source.type = kOnnxFloat;
  source.quantized.reset();
  std::vector<double> reals = weights.values;
  for (std::size_t i = 0; i < reals.size(); ++i) reals[i] *= scales[weights.ChannelOf(i)];
  ModelTensor tensor = MakeTensor(weights.shape, DataType::kF32, std::move(reals));
  tensor.scales.assign(scales.begin(), scales.end());
  std::vector<NamedValue> inputs = {source, std::make_shared<ModelTensor>(std::move(tensor))};
  if (!bias.empty()) {
    std::vector<double> real_bias = bias;
    for (std::size_t k = 0; k < real_bias.size(); ++k) {
      real_bias[k] *= static_cast<double>(quantization.scale) * scales[k];
    }
    inputs.emplace_back(std::make_shared<ModelTensor>(
        MakeTensor(Shape{weights.channels}, DataType::kF32, std::move(real_bias))));
  }
  return node.ImportAs(layer.op_type, std::move(inputs));
}

// The layer's exact sums of whole numbers, times the scales of its result's channels.
ImportedValue AddWholeLayer(NodeImport& node, const QLinearLayer& layer,
                            const CentredWeights& weights, const std::vector<double>& scales,
                            const std::vector<double>& bias, float source_scale,
                            float result_scale) {
  double largest = 0;
  for (const double number : bias) largest = std::max(largest, std::abs(number));
  CheckExact(weights, largest);
  std::vector<NamedValue> inputs = {CentredAt(node, 0, 2), weights.Tensor()};
  if (!bias.empty()) {
    inputs.emplace_back(
        std::make_shared<ModelTensor>(MakeTensor(Shape{weights.channels}, DataType::kF32, bias)));
  }
  const ImportedValue sums = node.ImportAs(layer.op_type, std::move(inputs));
  std::vector<double> factors;
  factors.reserve(scales.size());
  for (const double scale : scales) {
    factors.push_back(static_cast<double>(source_scale * static_cast<float>(scale) / result_scale));
  }
  std::vector<std::int64_t> extents(static_cast<std::size_t>(layer.trailing) + 1, 1);
  extents.front() = weights.channels;
  return AddBinary(node, "mul", sums,
                   MakeTensor(Shape(std::move(extents)), DataType::kF32, std::move(factors)));
}

void ImportQLinear(NodeImport& node, const QLinearLayer& layer) {
  const CentredWeights weights = WeightsAt(node, 3, 5, layer.channels_first);
  const std::vector<double> scales = WeightScalesAt(node, weights.channels);
  const ImportedValue source = node.QuantizedSourceAt(0);
  const ValueQuantization from = ValueQuantizationAt(node, 1, source.type);
  std::vector<double> bias;
  if (node.Has(layer.bias_input)) bias = ByChannel(node, layer.bias_input, weights.channels, 0);
  if (source.type != from.type) {
    throw UnsupportedNode(fmt::format("its input 0 is of {}, and its zero point of {}",
                                      NameOfOnnxType(source.type), NameOfOnnxType(from.type)));
  }
  if (!node.Has(layer.result_input)) {  // of QGemm: real numbers
    node.Produce(AddWholeLayer(node, layer, weights, scales, bias, from.scale, 1));
    return;
  }
  const ValueQuantization to = ValueQuantizationAt(node, layer.result_input, source.type);
  const std::optional<Quantization> symmetric = from.Symmetric(), result = to.Symmetric();
  const bool small = std::all_of(weights.values.begin(), weights.values.end(),
                                 [](double w) { return w >= -128 && w <= 127; });
  if (layer.channels_first && source.quantized && source.quantized == symmetric && small &&
      result && IsReadByIntegerLayers(node)) {
    const ImportedValue real = AddRealLayer(node, layer, source, weights, scales, bias);
    node.Produce(AddQuantizedReals(node, real, *result, to.type));
    return;
  }
  const ImportedValue in_units =
      AddWholeLayer(node, layer, weights, scales, bias, from.scale, to.scale);
  const std::optional<IntegerOperand> zero_point = ScalarTensor(to.zero_point);
  ImportedValue integers = AddIntegers(node, in_units, std::nullopt, zero_point, to.type);
  if (result && IsReadByIntegerLayers(node)) {
    const ImportedValue reals =
        AddReals(node, integers, ScalarTensor(static_cast<double>(to.scale)), zero_point);
    integers = AddQuantizedReals(node, reals, *result, to.type);
  }
  node.Produce(std::move(integers));
}

void ImportQLinearConv(NodeImport& node) {
  const int rank = node.ConstantAt(3).shape.rank();
  ImportQLinear(node, {"Conv", true, std::max(rank - 2, 0)});
}

void ImportQLinearMatMul(NodeImport& node) { ImportQLinear(node, {"MatMul", false, 0}); }

// Of ONNX Runtime: a Gemm whose bias is one integer for each output.
void ImportQGemm(NodeImport& node) {
  if (node.node().Float("alpha", 1) != 1) throw UnsupportedNode("an alpha other than 1");
  const bool transposed = node.node().Int("transB", 0) != 0;
  ImportQLinear(node, {"Gemm", transposed, 0, 6, 7});
}

// The scale and zero point come from the range of all elements and 0:
// scale = (most - least) / 255, zero point = round(-least / scale).
void ImportDynamicQuantizeLinear(NodeImport& node) {
  const ImportedValue value = node.SourceAt(0);
  std::vector<int> axes(static_cast<std::size_t>(value.shape.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  const auto limit = [&](ReduceAlgorithm algorithm, std::string_view function) {
    ImportedValue result =
        AddBinary(node, function, AddReduction(node, algorithm, value, axes), ScalarTensor(0));
    result.shape = Shape{};
    return result;
  };
  const ImportedValue least = limit(ReduceAlgorithm::kMin, "min");
  const ImportedValue most = limit(ReduceAlgorithm::kMax, "max");
  const ImportedValue scale =
      AddBinary(node, "div", AddBinary(node, "sub", most, least), ScalarTensor(255));
  const std::size_t outputs = node.node().outputs.size();
  if (outputs > 1 && node.IsRead(1)) node.Produce(scale, 1);
  const bool reads_zero_point = outputs > 2 && node.IsRead(2);
  if (!node.IsRead(0) && !reads_zero_point) return;
  const ImportedValue zero_point =
      AddIntegers(node, AddUnary(node, "neg", least), scale, std::nullopt, kOnnxUint8);
  if (reads_zero_point) node.Produce(zero_point, 2);
  if (node.IsRead(0)) {
    node.Produce(AddIntegers(node, value, scale, zero_point, kOnnxUint8));
  }
}

const NodeRegistration kConvInteger("ConvInteger", ImportConvInteger);
const NodeRegistration kDynamicQuantizeLinear("DynamicQuantizeLinear", ImportDynamicQuantizeLinear);
const NodeRegistration kMatMulInteger("MatMulInteger", ImportMatMulInteger);
const NodeRegistration kQGemm("com.microsoft::QGemm", ImportQGemm);
const NodeRegistration kQLinearConv("QLinearConv", ImportQLinearConv);
const NodeRegistration kQLinearMatMul("QLinearMatMul", ImportQLinearMatMul);

}  // namespace

}  // namespace topdnn
