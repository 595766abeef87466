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
#include "kernels/layernorm/layernorm.h"
#include "kernels/pool/pool.h"
#include "kernels/resize/resize.h"
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
  return graph_.Add(std::move(name),
                    std::make_shared<ConvOp>(extents, ConvEpilogue{.bias = layer.bias}), {from});
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
  return graph_.Add(std::move(name), std::make_shared<BatchNormOp>(shape(from), epsilon), {from});
}

ValueId NetworkBuilder::Relu(std::string name, ValueId from, float bound) {
  return graph_.Add(std::move(name), std::make_shared<ReluOp>(shape(from), bound), {from});
}

ValueId NetworkBuilder::Unary(std::string_view function, std::string name, ValueId from) {
  return graph_.Add(std::move(name), std::make_shared<UnaryOp>(function, shape(from)), {from});
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
  return graph_.Add(
      name, std::make_shared<BinaryOp>(product, shape(from), shape(x), BinaryConstant::kNone),
      {from, x});
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
  return graph_.Add(std::move(name), std::make_shared<LayerNormOp>(shape(from), epsilon), {from});
}

ValueId NetworkBuilder::ScaleChannels(std::string name, ValueId from, double initial) {
  std::vector<std::int64_t> factors(static_cast<std::size_t>(shape(from).rank()), 1);
  factors[1] = shape(from)[1];
  return graph_.Add(
      std::move(name),
      std::make_shared<BinaryOp>(*FindBinaryFunction("mul"), shape(from), Shape(std::move(factors)),
                                 BinaryConstant::kTrained, initial),
      {from});
}

ValueId NetworkBuilder::Upsample(const std::string& name, ValueId from, std::int64_t outputs,
                                 std::int64_t kernel) {
  const Shape& src = shape(from);
  ConvNdExtents extents{.n = src[0], .c = outputs, .k = src[1]};
  for (const std::int64_t pixels : {src[2], src[3]}) {
    extents.axes.push_back({.extent = kernel * pixels, .kernel = kernel, .stride = kernel});
  }
  const ValueId x = graph_.Add(name, std::make_shared<ConvTransposeOp>(std::move(extents)), {from});
  return graph_.Add(name + ".bias", std::make_shared<BiasOp>(shape(x)), {x});
}

ValueId NetworkBuilder::RepeatPixels(std::string name, ValueId from, std::int64_t factor) {
  return graph_.Add(std::move(name), std::make_shared<ResizeOp>(shape(from), factor, factor),
                    {from});
}

ValueId NetworkBuilder::MaxPool(std::string name, ValueId from, const PoolLayer& layer) {
  return graph_.Add(std::move(name),
                    std::make_shared<PoolOp>(PoolAlgorithm::kMax, ExtentsOf(shape(from), layer)),
                    {from});
}

ValueId NetworkBuilder::AveragePool(std::string name, ValueId from, const PoolLayer& layer) {
  return graph_.Add(
      std::move(name),
      std::make_shared<PoolOp>(PoolAlgorithm::kAverage, ExtentsOf(shape(from), layer)), {from});
}

ValueId NetworkBuilder::AveragePoolOfPadding(std::string name, ValueId from,
                                             const PoolLayer& layer) {
  return graph_.Add(
      std::move(name),
      std::make_shared<PoolOp>(PoolAlgorithm::kAverageOfPadding, ExtentsOf(shape(from), layer)),
      {from});
}

ValueId NetworkBuilder::GlobalAveragePool(std::string name, ValueId from) {
  const Shape& src = shape(from);
  return graph_.Add(std::move(name),
                    std::make_shared<PoolOp>(PoolAlgorithm::kAverage,
                                             PoolExtents::Global(src[0], src[1], src[2], src[3])),
                    {from});
}

ValueId NetworkBuilder::Lrn(std::string name, ValueId from, const LrnSettings& settings) {
  return graph_.Add(std::move(name), std::make_shared<LrnOp>(shape(from), settings), {from});
}

ValueId NetworkBuilder::Dropout(std::string name, ValueId from, float ratio) {
  return graph_.Add(std::move(name), std::make_shared<DropoutOp>(shape(from), ratio, ++dropouts_),
                    {from});
}

ValueId NetworkBuilder::DropImages(std::string name, ValueId from, float ratio) {
  if (ratio == 0) return from;
  return graph_.Add(std::move(name),
                    std::make_shared<DropoutOp>(shape(from), ratio, ++dropouts_, true), {from});
}

ValueId NetworkBuilder::Add(std::string name, ValueId a, ValueId b) {
  return graph_.Add(std::move(name), std::make_shared<AddOp>(shape(a), 2), {a, b});
}

ValueId NetworkBuilder::Concat(std::string name, const std::vector<ValueId>& from, int axis) {
  std::vector<Shape> shapes;
  shapes.reserve(from.size());
  for (const ValueId value : from) shapes.push_back(shape(value));
  return graph_.Add(std::move(name), std::make_shared<ConcatOp>(std::move(shapes), axis), from);
}

ValueId NetworkBuilder::Channels(std::string name, ValueId from, std::int64_t first,
                                 std::int64_t count) {
  const Shape& src = shape(from);
  std::vector<SliceAxis> axes;
  for (const std::int64_t extent : src.extents()) axes.push_back({.extent = extent});
  axes[1] = {.start = first, .extent = count};
  return graph_.Add(std::move(name), std::make_shared<SliceOp>(src, std::move(axes)), {from});
}

ValueId NetworkBuilder::ShuffleChannels(const std::string& name, ValueId from,
                                        std::int64_t groups) {
  const Shape src = shape(from);
  const ValueId split =
      Reshape(name + ".split", from, {src[0], groups, src[1] / groups, src[2], src[3]});
  const ValueId shuffled = graph_.Add(
      name + ".shuffle",
      std::make_shared<TransposeOp>(shape(split), std::vector<int>{0, 2, 1, 3, 4}), {split});
  return Reshape(name, shuffled, src);
}

ValueId NetworkBuilder::Reshape(std::string name, ValueId from, const Shape& to) {
  return graph_.Add(std::move(name), std::make_shared<FlattenOp>(shape(from), to), {from});
}

ValueId NetworkBuilder::Dense(std::string name, ValueId from, std::int64_t outputs) {
  return graph_.Add(std::move(name), std::make_shared<InnerProductOp>(shape(from), outputs),
                    {from});
}

ValueId NetworkBuilder::DenseRelu(const std::string& name, ValueId from, std::int64_t outputs) {
  return Relu(name + ".relu", Dense(name, from, outputs));
}

}  // namespace topdnn
