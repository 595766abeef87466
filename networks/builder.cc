#include "networks/builder.h"

#include <memory>
#include <utility>

#include "kernels/activation/relu.h"
#include "kernels/conv/conv.h"
#include "kernels/inner_product/inner_product.h"
#include "kernels/pool/pool.h"

namespace topdnn {

NetworkBuilder::NetworkBuilder(std::string name, const NetworkSize& size)
    : graph_(std::move(name)) {
  graph_.AddInput({size.batch, size.image[0], size.image[1], size.image[2]});
}

ValueId NetworkBuilder::Conv(std::string name, ValueId from, const ConvLayer& layer) {
  const Shape& src = shape(from);
  const ConvExtents extents{.n = src[0],
                            .c = src[1],
                            .h = src[2],
                            .w = src[3],
                            .k = layer.outputs,
                            .r = layer.kernel,
                            .s = layer.kernel,
                            .stride_h = layer.stride,
                            .stride_w = layer.stride,
                            .pad_top = layer.padding,
                            .pad_left = layer.padding,
                            .pad_bottom = layer.padding,
                            .pad_right = layer.padding,
                            .groups = layer.groups};
  return graph_.Add(std::move(name),
                    std::make_shared<ConvOp>(extents, ConvEpilogue{.bias = layer.bias}), {from});
}

ValueId NetworkBuilder::Relu(std::string name, ValueId from) {
  return graph_.Add(std::move(name), std::make_shared<ReluOp>(shape(from)), {from});
}

ValueId NetworkBuilder::MaxPool(std::string name, ValueId from, const PoolLayer& layer) {
  const Shape& src = shape(from);
  const PoolExtents extents{.n = src[0],
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
  return graph_.Add(std::move(name), std::make_shared<PoolOp>(PoolAlgorithm::kMax, extents),
                    {from});
}

ValueId NetworkBuilder::Dense(std::string name, ValueId from, std::int64_t outputs) {
  return graph_.Add(std::move(name), std::make_shared<InnerProductOp>(shape(from), outputs),
                    {from});
}

}  // namespace topdnn
