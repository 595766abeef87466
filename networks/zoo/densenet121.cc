// DenseNet-121: Huang, Liu, van der Maaten and Weinberger 2017, "Densely Connected Convolutional
// Networks", table 1, growth 32. Each layer adds its result to the concatenation before it, as in
// Keras; torchvision concatenates all results again in each layer, which gives the same values.

#include <fmt/format.h>

#include <string>

#include "networks/graph/builder.h"
#include "networks/graph/zoo.h"

namespace topdnn::densenet121 {

namespace {

constexpr std::int64_t kGrowth = 32;
constexpr std::int64_t kBottleneckWidth = 4 * kGrowth;
constexpr int kDenseLayers[] = {6, 12, 24, 16};

// Here the normalization and its ReLU come before the convolution.
ValueId NormRelu(NetworkBuilder& net, const std::string& name, ValueId from) {
  return net.Relu(name + ".relu", net.BatchNorm(name, from));
}

ValueId AddDenseLayer(NetworkBuilder& net, const std::string& name, ValueId from) {
  ValueId x = NormRelu(net, name + ".norm1", from);
  x = net.Conv(name + ".conv1", x, {.outputs = kBottleneckWidth, .kernel = 1, .bias = false});
  x = NormRelu(net, name + ".norm2", x);
  x = net.Conv(name + ".conv2", x, {.outputs = kGrowth, .kernel = 3, .padding = 1, .bias = false});
  return net.Concat(name, {from, x});
}

Graph BuildDenseNet121(const NetworkSize& size) {
  NetworkBuilder net("densenet121", size);
  ValueId x = net.ConvNormRelu("conv0", net.input(),
                               {.outputs = 64, .kernel = 7, .stride = 2, .padding = 3});
  x = net.MaxPool("pool0", x, {.kernel = 3, .stride = 2, .padding = 1});
  for (int block = 1; block <= 4; ++block) {
    for (int i = 1; i <= kDenseLayers[block - 1]; ++i) {
      x = AddDenseLayer(net, fmt::format("block{}.{}", block, i), x);
    }
    if (block == 4) break;
    const std::string name = fmt::format("transition{}", block);
    const std::int64_t halved = net.shape(x)[1] / 2;
    x = net.Conv(name + ".conv", NormRelu(net, name + ".norm", x),
                 {.outputs = halved, .kernel = 1, .bias = false});
    x = net.AveragePool(name + ".pool", x, {.kernel = 2, .stride = 2});
  }
  x = net.GlobalAveragePool("pool5", NormRelu(net, "norm5", x));
  net.Dense("fc", x, size.classes);
  return std::move(net).Take();
}

const NetworkRegistration kDenseNet121({.name = "densenet121",
                                        .source = "Huang et al. 2017; torchvision",
                                        .build = BuildDenseNet121,
                                        .published = TotalsOfTorchvision(7978856, 2.834)});

}  // namespace

}  // namespace topdnn::densenet121
