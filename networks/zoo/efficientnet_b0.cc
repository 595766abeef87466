// EfficientNet-B0: Tan and Le 2019, "EfficientNet: Rethinking Model Scaling for Convolutional
// Neural Networks", table 1, as in torchvision, but without stochastic depth, which in training
// drops the branches of whole images. In inference it drops nothing.

#include <fmt/format.h>

#include <string>

#include "networks/graph/builder.h"
#include "networks/graph/zoo.h"

namespace topdnn {

namespace {

struct MbConvs {
  std::int64_t expansion, kernel, stride, outputs;
  int repeats;
};

constexpr MbConvs kMbConvs[] = {{1, 3, 1, 16, 1}, {6, 3, 2, 24, 2},  {6, 5, 2, 40, 2},
                                {6, 3, 2, 80, 3}, {6, 5, 1, 112, 3}, {6, 5, 2, 192, 4},
                                {6, 3, 1, 320, 1}};

ValueId ConvNormSwish(NetworkBuilder& net, const std::string& name, ValueId from,
                      const ConvLayer& layer) {
  return net.Activate(name, net.ConvNorm(name, from, layer), Activation::kSwish);
}

ValueId AddMbConv(NetworkBuilder& net, const std::string& name, ValueId from, const MbConvs& stage,
                  std::int64_t stride) {
  const std::int64_t channels = net.shape(from)[1];
  const std::int64_t wide = stage.expansion * channels;
  ValueId x = from;
  if (stage.expansion != 1) {
    x = ConvNormSwish(net, name + ".expand", x, {.outputs = wide, .kernel = 1});
  }
  x = ConvNormSwish(net, name + ".depthwise", x,
                    {.outputs = wide,
                     .kernel = stage.kernel,
                     .stride = stride,
                     .padding = stage.kernel / 2,
                     .groups = wide});
  x = net.SqueezeExcite(name + ".se", x, channels / 4, Activation::kSwish,
                        NetworkBuilder::Gate::kSigmoid);
  x = net.ConvNorm(name + ".project", x, {.outputs = stage.outputs, .kernel = 1});
  return stride == 1 && channels == stage.outputs ? net.Add(name + ".add", x, from) : x;
}

Graph BuildEfficientNetB0(const NetworkSize& size) {
  NetworkBuilder net("efficientnet_b0", size);
  ValueId x = ConvNormSwish(net, "conv1", net.input(),
                            {.outputs = 32, .kernel = 3, .stride = 2, .padding = 1});
  int index = 1;
  for (const MbConvs& stage : kMbConvs) {
    for (int i = 0; i < stage.repeats; ++i) {
      x = AddMbConv(net, fmt::format("stage{}.{}", index, i), x, stage, i == 0 ? stage.stride : 1);
    }
    ++index;
  }
  x = ConvNormSwish(net, "conv2", x, {.outputs = 1280, .kernel = 1});
  x = net.Dropout("drop", net.GlobalAveragePool("pool", x), 0.2F);
  net.Dense("fc", x, size.classes);
  return std::move(net).Take();
}

const NetworkRegistration kEfficientNetB0({.name = "efficientnet_b0",
                                           .variant = "",
                                           .source = "Tan and Le 2019; torchvision",
                                           .image = {3, 224, 224},
                                           .small = {3, 64, 64},
                                           .classes = 1000,
                                           .build = BuildEfficientNetB0});

}  // namespace

}  // namespace topdnn
