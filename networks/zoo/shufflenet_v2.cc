// ShuffleNet v2, 1.0x: Ma, Zhang, Zheng and Sun 2018, "ShuffleNet V2: Practical Guidelines for
// Efficient CNN Architecture Design", table 5 and figure 3, as in torchvision.

#include <fmt/format.h>

#include <string>

#include "networks/graph/builder.h"
#include "networks/graph/zoo.h"

namespace topdnn::shufflenet_v2 {

namespace {

struct ShuffleStage {
  std::int64_t outputs;
  int units;
};

constexpr ShuffleStage kShuffleStages[] = {{116, 4}, {232, 8}, {464, 4}};

ValueId AddDepthwise(NetworkBuilder& net, const std::string& name, ValueId from,
                     std::int64_t stride) {
  const std::int64_t channels = net.shape(from)[1];
  return net.ConvNorm(
      name, from,
      {.outputs = channels, .kernel = 3, .stride = stride, .padding = 1, .groups = channels});
}

// With stride 1 the first half of the channels passes unchanged.
ValueId AddShuffleUnit(NetworkBuilder& net, const std::string& name, ValueId from,
                       std::int64_t outputs, std::int64_t stride) {
  const ConvLayer ones = {.outputs = outputs / 2, .kernel = 1};
  ValueId left = from, right = from;
  if (stride == 1) {
    left = net.Channels(name + ".left", from, 0, outputs / 2);
    right = net.Channels(name + ".right", from, outputs / 2, outputs / 2);
  } else {
    left = AddDepthwise(net, name + ".left.depthwise", from, stride);
    left = net.ConvNormRelu(name + ".left.conv", left, ones);
  }
  right = net.ConvNormRelu(name + ".right.conv1", right, ones);
  right = AddDepthwise(net, name + ".right.depthwise", right, stride);
  right = net.ConvNormRelu(name + ".right.conv2", right, ones);
  return net.ShuffleChannels(name + ".shuffled", net.Concat(name, {left, right}), 2);
}

Graph BuildShuffleNetV2(const NetworkSize& size) {
  NetworkBuilder net("shufflenet_v2", size);
  ValueId x = net.ConvNormRelu("conv1", net.input(),
                               {.outputs = 24, .kernel = 3, .stride = 2, .padding = 1});
  x = net.MaxPool("pool1", x, {.kernel = 3, .stride = 2, .padding = 1});
  int index = 2;
  for (const ShuffleStage& stage : kShuffleStages) {
    for (int i = 0; i < stage.units; ++i) {
      x = AddShuffleUnit(net, fmt::format("stage{}.{}", index, i), x, stage.outputs,
                         i == 0 ? 2 : 1);
    }
    ++index;
  }
  x = net.ConvNormRelu("conv5", x, {.outputs = 1024, .kernel = 1});
  net.Dense("fc", net.GlobalAveragePool("pool5", x), size.classes);
  return std::move(net).Take();
}

const NetworkRegistration kShuffleNetV2({.name = "shufflenet_v2",
                                         .source = "Ma et al. 2018; torchvision (1.0x)",
                                         .build = BuildShuffleNetV2,
                                         .published = TotalsOfTorchvision(2278604, 0.145)});

}  // namespace

}  // namespace topdnn::shufflenet_v2
