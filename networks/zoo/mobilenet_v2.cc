// MobileNetV2, 1.0 at 224: Sandler, Howard, Zhu, Zhmoginov and Chen 2018, "MobileNetV2: Inverted
// Residuals and Linear Bottlenecks", table 2. The dropout before the last layer is torchvision's.

#include <fmt/format.h>

#include <string>

#include "networks/graph/builder.h"
#include "networks/graph/zoo.h"

namespace topdnn {

namespace {

struct Bottlenecks {
  std::int64_t expansion, outputs;
  int repeats;
  std::int64_t stride;  // stride of the first block
};

constexpr Bottlenecks kStages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                                   {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};

ValueId ConvNormRelu6(NetworkBuilder& net, const std::string& name, ValueId from,
                      const ConvLayer& layer) {
  return net.ConvNormRelu(name, from, layer, BatchNormOp::kDefaultEpsilon, 6.0F);
}

ValueId AddBottleneck(NetworkBuilder& net, const std::string& name, ValueId from,
                      std::int64_t expansion, std::int64_t outputs, std::int64_t stride) {
  const std::int64_t channels = net.shape(from)[1];
  const std::int64_t wide = expansion * channels;
  ValueId x = from;
  if (expansion != 1) {
    x = ConvNormRelu6(net, name + ".expand", x, {.outputs = wide, .kernel = 1});
  }
  x = ConvNormRelu6(net, name + ".depthwise", x,
                    {.outputs = wide, .kernel = 3, .stride = stride, .padding = 1, .groups = wide});
  x = net.ConvNorm(name + ".project", x, {.outputs = outputs, .kernel = 1});
  return stride == 1 && channels == outputs ? net.Add(name + ".add", x, from) : x;
}

Graph Build(const NetworkSize& size) {
  NetworkBuilder net("mobilenet_v2", size);
  ValueId x = ConvNormRelu6(net, "conv1", net.input(),
                            {.outputs = 32, .kernel = 3, .stride = 2, .padding = 1});
  int index = 1;
  for (const Bottlenecks& stage : kStages) {
    for (int i = 0; i < stage.repeats; ++i) {
      x = AddBottleneck(net, fmt::format("block{}", index++), x, stage.expansion, stage.outputs,
                        i == 0 ? stage.stride : 1);
    }
  }
  x = ConvNormRelu6(net, "conv2", x, {.outputs = 1280, .kernel = 1});
  x = net.Dropout("drop", net.GlobalAveragePool("pool", x), 0.2F);
  net.Dense("fc", x, size.classes);
  return std::move(net).Take();
}

const NetworkRegistration kMobileNetV2({.name = "mobilenet_v2",
                                        .variant = "",
                                        .source = "Sandler et al. 2018; torchvision",
                                        .image = {3, 224, 224},
                                        .small = {3, 64, 64},
                                        .classes = 1000,
                                        .build = Build});

}  // namespace

}  // namespace topdnn
