#include "kernels/quantization/quantized_layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "kernels/conv/conv.h"
#include "kernels/inner_product/inner_product.h"
#include "kernels/op/problem.h"
#include "kernels/quantization/integer_types.h"

namespace topdnn {

QuantizedLayerOp::QuantizedLayerOp(std::shared_ptr<const Op> layer, Requantization requantization)
    : layer_(std::move(layer)), requantization_(std::move(requantization)) {
  const Requantization& r = requantization_;
  const auto* conv = dynamic_cast<const ConvOp*>(layer_.get());
  if (conv == nullptr && dynamic_cast<const InnerProductOp*>(layer_.get()) == nullptr) {
    throw std::invalid_argument(
        fmt::format("{} is not quantized: only conv and inner_product are", layer_->kind()));
  }
  if (conv != nullptr && conv->epilogue().sum) {
    throw std::invalid_argument("a quantized convolution adds its second source, not dst");
  }
  if (conv != nullptr && conv->epilogue().function != nullptr) {
    throw std::invalid_argument(fmt::format("a quantized convolution applies a ReLU alone, not {}",
                                            conv->epilogue().function->name));
  }
  if (!IsQuantizedType(r.src) || (r.sum && !IsQuantizedType(*r.sum)) ||
      (r.dst != DataType::kF32 && !IsQuantizedType(r.dst)) || (r.sum && r.dst == DataType::kF32)) {
    throw std::invalid_argument(fmt::format(
        "{}: its source must be s8 or u8, its result s8, u8 or, without a second source, f32",
        kind()));
  }
  const bool finite = std::all_of(r.scales.begin(), r.scales.end(),
                                  [](float scale) { return scale > 0 && std::isfinite(scale); });
  if (static_cast<std::int64_t>(r.scales.size()) != channels() || !finite ||
      !std::isfinite(r.sum_scale)) {
    throw std::invalid_argument(
        fmt::format("{} needs a scale above 0 for each of its {} channels", kind(), channels()));
  }
}

std::int64_t QuantizedLayerOp::channels() const {
  return layer_->Find({Pass::kForward, false}, Arg::kDst)->shape[1];
}

std::shared_ptr<const Op> QuantizedLayerOp::Sums() const {
  if (const auto* conv = dynamic_cast<const ConvOp*>(layer_.get())) {
    return std::make_shared<ConvOp>(conv->extents(), ConvEpilogue{.bias = false});
  }
  const auto& product = dynamic_cast<const InnerProductOp&>(*layer_);
  return std::make_shared<InnerProductOp>(product.src_shape(), product.outputs(),
                                          InnerProductEpilogue{.bias = false});
}

std::string_view QuantizedLayerOp::kind() const {
  return layer_->kind() == "conv" ? "quantized_conv" : "quantized_inner_product";
}

std::string QuantizedLayerOp::Problem() const {
  const Requantization& r = requantization_;
  std::string problem = fmt::format("{}_src{}", layer_->Problem(), NameOf(r.src));
  problem += r.dst == DataType::kF32 ? "_real" : fmt::format("_dst{}", NameOf(r.dst));
  if (r.sum) problem += fmt::format("_plus{}", NameOf(*r.sum));
  return problem;
}

std::vector<Operand> QuantizedLayerOp::Operands(const Execution& execution) const {
  if (execution.pass != Pass::kForward) return {};
  const bool integer = IsQuantizedType(execution.type);
  const auto typed = [&](DataType type) { return integer ? type : execution.type; };
  const Requantization& r = requantization_;
  std::vector<Operand> operands = layer_->Operands({Pass::kForward, false, DataType::kF32});
  const Shape dst = operands.back().shape;
  for (Operand& operand : operands) {
    operand.type = typed(operand.arg == Arg::kSrc       ? r.src
                         : operand.arg == Arg::kWeights ? DataType::kS8
                         : operand.arg == Arg::kBias    ? DataType::kS32
                                                        : r.dst);
  }
  if (r.sum) {
    operands.insert(operands.end() - 1, {Arg::kSum, Direction::kIn, dst, typed(*r.sum)});
  }
  return operands;
}

Arithmetic QuantizedLayerOp::ArithmeticOf(const Execution& execution) const {
  if (execution.pass != Pass::kForward) return {};
  return layer_->ArithmeticOf({execution.pass});
}

namespace {

// Sums of random inputs have a standard deviation of about 1400 (source in s8) or 2700 (u8) times
// the root of their length.
Requantization SpreadingScales(const Op& layer, const ProblemWord& word) {
  Requantization r;
  r.src = QuantizedTypeOf(word, "src");
  r.dst = word.Flag("real") ? DataType::kF32 : QuantizedTypeOf(word, "dst");
  const bool adds = word.Has("plusu") || word.Has("pluss");
  if (adds) {
    r.sum = QuantizedTypeOf(word, "plus");
    r.sum_scale = 0.625F;
  }
  const auto length = static_cast<double>(layer.AccumulationLength(Pass::kForward));
  const std::int64_t channels = layer.Find({Pass::kForward, false}, Arg::kDst)->shape[1];
  for (std::int64_t k = 0; k < channels; ++k) {
    const double factor = 1 + 0.25 * static_cast<double>(k % 4);
    r.scales.push_back(static_cast<float>(0.03 * factor / std::sqrt(length)));
  }
  return r;
}

template <const char* kLayer>
std::shared_ptr<const Op> ParseQuantizedLayer(const ProblemWord& word) {
  const std::shared_ptr<const Op> layer = ParseFields(kLayer, word);
  return std::make_shared<QuantizedLayerOp>(layer, SpreadingScales(*layer, word));
}

constexpr char kConv[] = "conv";
constexpr char kInnerProduct[] = "inner_product";

const ProblemRegistration kConvProblem("quantized_conv", ParseQuantizedLayer<kConv>);
const ProblemRegistration kInnerProductProblem("quantized_inner_product",
                                               ParseQuantizedLayer<kInnerProduct>);

}  // namespace

}  // namespace topdnn
