// Builds a network layer by layer and infers the shapes. Each file of the zoo uses it.

#ifndef TOPDNN_NETWORKS_GRAPH_BUILDER_H_
#define TOPDNN_NETWORKS_GRAPH_BUILDER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/batchnorm/batchnorm.h"
#include "kernels/lrn/lrn.h"
#include "networks/graph/graph.h"
#include "networks/graph/zoo.h"

namespace topdnn {

// Square kernels, equal strides and symmetric padding, as in nearly all networks. Another width of
// the kernel has its own padding.
struct ConvLayer {
  std::int64_t outputs;
  std::int64_t kernel;
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  std::int64_t groups = 1;
  bool bias = true;
  std::int64_t kernel_w = 0;   // 0: `kernel` and `padding` hold for both axes
  std::int64_t padding_w = 0;  // left and right; used with kernel_w
};

struct PoolLayer {
  std::int64_t kernel;
  std::int64_t stride;
  std::int64_t padding = 0;
  bool ceil_mode = false;
};

// The names of the layers that they add are `relu`, `relu6`, `swish`, `hard_swish` and `gelu`.
enum class Activation { kNone, kRelu, kRelu6, kSwish, kHardSwish, kGelu };

// The inverted residual of Sandler et al. 2018, and with squeeze-and-excitation of Howard et al.
// 2019 and Tan and Le 2019.
struct InvertedResidual {
  std::int64_t expanded;  // channels of the depthwise convolution
  std::int64_t kernel, stride, outputs;
  Activation activation;
  std::int64_t squeezed = 0;  // channels of the squeeze-and-excitation; 0: none
  Activation squeeze_activation = Activation::kRelu;
  bool hard_gate = false;
  float dropped = 0.0F;  // ratio of the stochastic depth of the branch
  float epsilon = BatchNormOp::kDefaultEpsilon;
};

class NetworkBuilder {
 public:
  NetworkBuilder(std::string name, const NetworkSize& size);

  ValueId input() const { return 0; }
  const Shape& shape(ValueId value) const { return graph_.shape(value); }

  ValueId Conv(std::string name, ValueId from, const ConvLayer& layer);
  // A convolution NAME without a bias, followed by the batch normalization NAME.bn.
  ValueId ConvNorm(const std::string& name, ValueId from, ConvLayer layer,
                   float epsilon = BatchNormOp::kDefaultEpsilon);
  // ConvNorm followed by the ReLU NAME.relu. `bound` 0: no bound.
  ValueId ConvNormRelu(const std::string& name, ValueId from, const ConvLayer& layer,
                       float epsilon = BatchNormOp::kDefaultEpsilon, float bound = 0.0F);
  // The convolution NAME followed by the ReLU NAME.relu.
  ValueId ConvRelu(const std::string& name, ValueId from, const ConvLayer& layer);
  // The layer NAME.ACTIVATION; kNone adds none.
  ValueId Activate(const std::string& name, ValueId from, Activation activation);
  ValueId BatchNorm(std::string name, ValueId from, float epsilon = BatchNormOp::kDefaultEpsilon);
  // ConvNorm and Activate.
  ValueId ConvNormActivation(const std::string& name, ValueId from, const ConvLayer& layer,
                             Activation activation, float epsilon = BatchNormOp::kDefaultEpsilon);
  // NAME.expand (if it changes the channels), NAME.depthwise, NAME.se, NAME.project and, if source
  // and result have the same shape, NAME.drop and NAME.add.
  ValueId AddInvertedResidual(const std::string& name, ValueId from, const InvertedResidual& block);
  // Over the channels of each pixel.
  ValueId LayerNorm(std::string name, ValueId from, float epsilon);
  // The product with a trained factor for each channel, which starts at `initial`.
  ValueId ScaleChannels(std::string name, ValueId from, double initial);
  // Without padding: each pixel becomes a square of kernel x kernel pixels; then the bias
  // NAME.bias.
  ValueId Upsample(const std::string& name, ValueId from, std::int64_t outputs,
                   std::int64_t kernel);
  // Each pixel is repeated `factor` times along both axes.
  ValueId RepeatPixels(std::string name, ValueId from, std::int64_t factor);
  ValueId Relu(std::string name, ValueId from, float bound = 0.0F);
  // An element-wise function of kernels/eltwise/unary.h, with its default parameters.
  ValueId Unary(std::string_view function, std::string name, ValueId from);
  // Squeeze and excitation (Hu, Shen and Sun 2018): the mean of each channel NAME.pool, the 1x1
  // convolution NAME.reduce with `squeezed` outputs, an activation, NAME.expand, and the gate
  // NAME.gate, by which NAME multiplies the channel.
  enum class Gate { kSigmoid, kHardSigmoid };
  ValueId SqueezeExcite(const std::string& name, ValueId from, std::int64_t squeezed,
                        Activation activation, Gate gate);
  ValueId MaxPool(std::string name, ValueId from, const PoolLayer& layer);
  ValueId AveragePool(std::string name, ValueId from, const PoolLayer& layer);
  // The mean of each window with its padding, which is 0 (PyTorch's default).
  ValueId AveragePoolOfPadding(std::string name, ValueId from, const PoolLayer& layer);
  // The mean of each channel: (N, C, 1, 1).
  ValueId GlobalAveragePool(std::string name, ValueId from);
  ValueId Lrn(std::string name, ValueId from, const LrnSettings& settings);
  // Each dropout layer gets its own seed.
  ValueId Dropout(std::string name, ValueId from, float ratio);
  // Stochastic depth: drops whole images. Ratio 0: adds no layer.
  ValueId DropImages(std::string name, ValueId from, float ratio);
  ValueId Add(std::string name, ValueId a, ValueId b);
  // Concatenates along the channels, or another axis.
  ValueId Concat(std::string name, const std::vector<ValueId>& from, int axis = 1);
  // The channels first, first + 1, ..., as many as `count`.
  ValueId Channels(std::string name, ValueId from, std::int64_t first, std::int64_t count);
  // The channels in turn from each of `groups` equal parts: NAME.split, NAME.shuffle and NAME.
  ValueId ShuffleChannels(const std::string& name, ValueId from, std::int64_t groups);
  // The same elements in another shape.
  ValueId Reshape(std::string name, ValueId from, const Shape& to);
  // Fully connected. An image needs no flattening.
  ValueId Dense(std::string name, ValueId from, std::int64_t outputs);
  // The fully connected layer NAME followed by the ReLU NAME.relu.
  ValueId DenseRelu(const std::string& name, ValueId from, std::int64_t outputs);

  Graph Take() && { return std::move(graph_); }

 private:
  // Adds the operation LayerOp(arguments...).
  template <typename LayerOp, typename... Arguments>
  ValueId Layer(std::string name, std::vector<ValueId> from, Arguments&&... arguments);

  Graph graph_;
  std::uint32_t dropouts_ = 0;
};

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_GRAPH_BUILDER_H_
