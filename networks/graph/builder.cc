#include "networks/graph/builder.h"

#include <memory>
#include <utility>

#include "kernels/activation/relu.h"
#include "kernels/activation/sigmoid.h"
#include "kernels/bias/bias.h"
#include "kernels/concat/concat.h"
#include "kernels/conv/conv.h"
#include "kernels/conv_transpose/conv_transpose.h"
#include "kernels/dropout/dropout.h"
#include "kernels/eltwise/add.h"
#include "kernels/eltwise/binary.h"
#include "kernels/eltwise/unary.h"
#include "kernels/flatten/flatten.h"
#include "kernels/inner_product/inner_product.h"
#include "kernels/interpolate/interpolate.h"
#include "kernels/layernorm/layernorm.h"
#include "kernels/pool/pool.h"
#include "kernels/slice/slice.h"
#include "kernels/transpose/transpose.h"

namespace topdnn {

namespace {

PoolExtents ExtentsOf(const Shape& src, const PoolLayer& layer) {
  return {.n = src[0],
          .c = src[1],
          .h = src[2],
          .w = src[3],
          .r = layer.kernel,
          .s = layer.kernel,
          .stride_h = layer.stride,
          .stride_w = layer.stride,
          .pad_top = layer.padding,
          .pad_left = layer.padding,
          .pad_bottom = layer.padding,
          .pad_right = layer.padding,
          .ceil_mode = layer.ceil_mode};
}

}  // namespace

template <typename LayerOp, typename... Arguments>
ValueId NetworkBuilder::Layer(std::string name, std::vector<ValueId> from,
                              Arguments&&... arguments) {
  std::shared_ptr<const Op> op = std::make_shared<LayerOp>(std::forward<Arguments>(arguments)...);
  return graph_.Add(std::move(name), std::move(op), std::move(from));
}

NetworkBuilder::NetworkBuilder(std::string name, const NetworkSize& size)
    : graph_(std::move(name)) {
  graph_.AddInput({size.batch, size.image[0], size.image[1], size.image[2]});
}

ValueId NetworkBuilder::Conv(std::string name, ValueId from, const ConvLayer& layer) {
  const Shape& src = shape(from);
  const bool square = layer.kernel_w == 0;
  const std::int64_t padding_w = square ? layer.padding : layer.padding_w;
  const ConvExtents extents{.n = src[0],
                            .c = src[1],
                            .h = src[2],
                            .w = src[3],
                            .k = layer.outputs,
                            .r = layer.kernel,
                            .s = square ? layer.kernel : layer.kernel_w,
                            .stride_h = layer.stride,
                            .stride_w = layer.stride,
                            .pad_top = layer.padding,
                            .pad_left = padding_w,
                            .pad_bottom = layer.padding,
                            .pad_right = padding_w,
                            .groups = layer.groups};
  return Layer<ConvOp>(std::move(name), {from}, extents, ConvEpilogue{.bias = layer.bias});
}

ValueId NetworkBuilder::ConvNorm(const std::string& name, ValueId from, ConvLayer layer,
                                 float epsilon) {
  layer.bias = false;  // the normalization would cancel it
  return BatchNorm(name + ".bn", Conv(name, from, layer), epsilon);
}

ValueId NetworkBuilder::ConvNormRelu(const std::string& name, ValueId from, const ConvLayer& layer,
                                     float epsilon, float bound) {
  return Relu(name + ".relu", ConvNorm(name, from, layer, epsilon), bound);
}

ValueId NetworkBuilder::ConvRelu(const std::string& name, ValueId from, const ConvLayer& layer) {
  return Relu(name + ".relu", Conv(name, from, layer));
}

ValueId NetworkBuilder::BatchNorm(std::string name, ValueId from, float epsilon) {
  return Layer<BatchNormOp>(std::move(name), {from}, shape(from), epsilon);
}

ValueId NetworkBuilder::Relu(std::string name, ValueId from, float bound) {
  return Layer<ReluOp>(std::move(name), {from}, shape(from), bound);
}

ValueId NetworkBuilder::Unary(std::string_view function, std::string name, ValueId from) {
  return Layer<UnaryOp>(std::move(name), {from}, function, shape(from));
}

ValueId NetworkBuilder::Activate(const std::string& name, ValueId from, Activation activation) {
  switch (activation) {
    case Activation::kNone:
      break;
    case Activation::kRelu:
      return Relu(name + ".relu", from);
    case Activation::kRelu6:
      return Relu(name + ".relu", from, 6.0F);
    case Activation::kGelu:
      return Unary("gelu", name + ".gelu", from);
    case Activation::kSwish:
      return Unary("swish", name + ".swish", from);
    case Activation::kHardSwish:
      return Unary("hard_swish", name + ".hard_swish", from);
  }
  return from;
}

ValueId NetworkBuilder::SqueezeExcite(const std::string& name, ValueId from, std::int64_t squeezed,
                                      Activation activation, Gate gate) {
  ValueId x = GlobalAveragePool(name + ".pool", from);
  x = Conv(name + ".reduce", x, {.outputs = squeezed, .kernel = 1});
  x = Activate(name + ".reduce", x, activation);
  x = Conv(name + ".expand", x, {.outputs = shape(from)[1], .kernel = 1});
  std::shared_ptr<const Op> function;
  if (gate == Gate::kSigmoid) {
    function = std::make_shared<SigmoidOp>(shape(x));
  } else {
    function = std::make_shared<HardSigmoidOp>(shape(x), 1.0F / 6, 0.5F);  // PyTorch's factor
  }
  x = graph_.Add(name + ".gate", std::move(function), {x});
  const BinaryFunction& product = *FindBinaryFunction("mul");
  return Layer<BinaryOp>(name, {from, x}, product, shape(from), shape(x), BinaryConstant::kNone);
}

ValueId NetworkBuilder::ConvNormActivation(const std::string& name, ValueId from,
                                           const ConvLayer& layer, Activation activation,
                                           float epsilon) {
  return Activate(name, ConvNorm(name, from, layer, epsilon), activation);
}

ValueId NetworkBuilder::AddInvertedResidual(const std::string& name, ValueId from,
                                            const InvertedResidual& block) {
  const std::int64_t channels = shape(from)[1];
  ValueId x = from;
  if (block.expanded != channels) {
    x = ConvNormActivation(name + ".expand", x, {.outputs = block.expanded, .kernel = 1},
                           block.activation, block.epsilon);
  }
  x = ConvNormActivation(name + ".depthwise", x,
                         {.outputs = block.expanded,
                          .kernel = block.kernel,
                          .stride = block.stride,
                          .padding = block.kernel / 2,
                          .groups = block.expanded},
                         block.activation, block.epsilon);
  if (block.squeezed != 0) {
    x = SqueezeExcite(name + ".se", x, block.squeezed, block.squeeze_activation,
                      block.hard_gate ? Gate::kHardSigmoid : Gate::kSigmoid);
  }
  x = ConvNorm(name + ".project", x, {.outputs = block.outputs, .kernel = 1}, block.epsilon);
  if (block.stride != 1 || channels != block.outputs) return x;
  return Add(name + ".add", DropImages(name + ".drop", x, block.dropped), from);
}

ValueId NetworkBuilder::LayerNorm(std::string name, ValueId from, float epsilon) {
  return Layer<LayerNormOp>(std::move(name), {from}, shape(from), epsilon);
}

ValueId NetworkBuilder::ScaleChannels(std::string name, ValueId from, double initial) {
  std::vector<std::int64_t> factors(static_cast<std::size_t>(shape(from).rank()), 1);
  factors[1] = shape(from)[1];
  return Layer<BinaryOp>(std::move(name), {from}, *FindBinaryFunction("mul"), shape(from),
                         Shape(std::move(factors)), BinaryConstant::kTrained, initial);
}

ValueId NetworkBuilder::Upsample(const std::string& name, ValueId from, std::int64_t outputs,
                                 std::int64_t kernel) {
  const Shape& src = shape(from);
  ConvNdExtents extents{.n = src[0], .c = outputs, .k = src[1]};
  for (const std::int64_t pixels : {src[2], src[3]}) {
    extents.axes.push_back({.extent = kernel * pixels, .kernel = kernel, .stride = kernel});
  }
  const ValueId x = Layer<ConvTransposeOp>(name, {from}, std::move(extents));
  return Layer<BiasOp>(name + ".bias", {x}, shape(x));
}

ValueId NetworkBuilder::RepeatPixels(std::string name, ValueId from, std::int64_t factor) {
  return Layer<InterpolateOp>(std::move(name), {from},
                              topdnn::RepeatPixels(shape(from), {factor, factor}));
}

ValueId NetworkBuilder::MaxPool(std::string name, ValueId from, const PoolLayer& layer) {
  return Layer<PoolOp>(std::move(name), {from}, PoolAlgorithm::kMax, ExtentsOf(shape(from), layer));
}

ValueId NetworkBuilder::AveragePool(std::string name, ValueId from, const PoolLayer& layer) {
  return Layer<PoolOp>(std::move(name), {from}, PoolAlgorithm::kAverage,
                       ExtentsOf(shape(from), layer));
}

ValueId NetworkBuilder::AveragePoolOfPadding(std::string name, ValueId from,
                                             const PoolLayer& layer) {
  return Layer<PoolOp>(std::move(name), {from}, PoolAlgorithm::kAverageOfPadding,
                       ExtentsOf(shape(from), layer));
}

ValueId NetworkBuilder::GlobalAveragePool(std::string name, ValueId from) {
  const Shape& src = shape(from);
  return Layer<PoolOp>(std::move(name), {from}, PoolAlgorithm::kAverage,
                       PoolExtents::Global(src[0], src[1], src[2], src[3]));
}

ValueId NetworkBuilder::Lrn(std::string name, ValueId from, const LrnSettings& settings) {
  return Layer<LrnOp>(std::move(name), {from}, shape(from), settings);
}

ValueId NetworkBuilder::Dropout(std::string name, ValueId from, float ratio) {
  return Layer<DropoutOp>(std::move(name), {from}, shape(from), ratio, ++dropouts_);
}

ValueId NetworkBuilder::DropImages(std::string name, ValueId from, float ratio) {
  if (ratio == 0) return from;
  return Layer<DropoutOp>(std::move(name), {from}, shape(from), ratio, ++dropouts_, true);
}

ValueId NetworkBuilder::Add(std::string name, ValueId a, ValueId b) {
  return Layer<AddOp>(std::move(name), {a, b}, shape(a), 2);
}

ValueId NetworkBuilder::Concat(std::string name, const std::vector<ValueId>& from, int axis) {
  std::vector<Shape> shapes;
  shapes.reserve(from.size());
  for (const ValueId value : from) shapes.push_back(shape(value));
  return Layer<ConcatOp>(std::move(name), from, std::move(shapes), axis);
}

ValueId NetworkBuilder::Channels(std::string name, ValueId from, std::int64_t first,
                                 std::int64_t count) {
  const Shape& src = shape(from);
  std::vector<SliceAxis> axes;
  for (const std::int64_t extent : src.extents()) axes.push_back({.extent = extent});
  axes[1] = {.start = first, .extent = count};
  return Layer<SliceOp>(std::move(name), {from}, src, std::move(axes));
}

ValueId NetworkBuilder::ShuffleChannels(const std::string& name, ValueId from,
                                        std::int64_t groups) {
  const Shape src = shape(from);
  const ValueId split =
      Reshape(name + ".split", from, {src[0], groups, src[1] / groups, src[2], src[3]});
  const ValueId shuffled =
      Layer<TransposeOp>(name + ".shuffle", {split}, shape(split), std::vector<int>{0, 2, 1, 3, 4});
  return Reshape(name, shuffled, src);
}

ValueId NetworkBuilder::Reshape(std::string name, ValueId from, const Shape& to) {
  return Layer<FlattenOp>(std::move(name), {from}, shape(from), to);
}

ValueId NetworkBuilder::Dense(std::string name, ValueId from, std::int64_t outputs) {
  return Layer<InnerProductOp>(std::move(name), {from}, shape(from), outputs);
}

ValueId NetworkBuilder::DenseRelu(const std::string& name, ValueId from, std::int64_t outputs) {
  return Relu(name + ".relu", Dense(name, from, outputs));
}

}  // namespace topdnn
