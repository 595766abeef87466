// ConvNeXt-T: Liu, Mao, Wu, Feichtenhofer, Darrell and Xie 2022, "A ConvNet for the 2020s", figure
// 4 and section 2, as in torchvision. The fully connected layers of a block are 1x1 convolutions.

#include <fmt/format.h>

#include <string>

#include "networks/graph/builder.h"
#include "networks/graph/zoo.h"

namespace topdnn::convnext_tiny {

namespace {

struct ConvNeXtStage {
  std::int64_t channels;
  int blocks;
};

constexpr ConvNeXtStage kConvNeXtStages[] = {{96, 3}, {192, 3}, {384, 9}, {768, 3}};
constexpr float kNormEpsilon = 1e-6F;
constexpr double kInitialScale = 1e-6;
constexpr float kMostDropped = 0.1F;  // of the last block; none of the first

ValueId AddConvNeXtBlock(NetworkBuilder& net, const std::string& name, ValueId from,
                         float dropped) {
  const std::int64_t channels = net.shape(from)[1];
  ValueId x = net.Conv(name + ".depthwise", from,
                       {.outputs = channels, .kernel = 7, .padding = 3, .groups = channels});
  x = net.LayerNorm(name + ".norm", x, kNormEpsilon);
  x = net.Conv(name + ".expand", x, {.outputs = 4 * channels, .kernel = 1});
  x = net.Activate(name + ".expand", x, Activation::kGelu);
  x = net.Conv(name + ".project", x, {.outputs = channels, .kernel = 1});
  x = net.ScaleChannels(name + ".scale", x, kInitialScale);
  return net.Add(name + ".add", net.DropImages(name + ".drop", x, dropped), from);
}

Graph BuildConvNeXtTiny(const NetworkSize& size) {
  NetworkBuilder net("convnext_tiny", size);
  ValueId x = net.Conv("stem", net.input(), {.outputs = 96, .kernel = 4, .stride = 4});
  x = net.LayerNorm("stem.norm", x, kNormEpsilon);
  int blocks = 0;
  for (const ConvNeXtStage& stage : kConvNeXtStages) blocks += stage.blocks;
  int index = 1, block = 0;
  for (const ConvNeXtStage& stage : kConvNeXtStages) {
    if (index > 1) {
      const std::string name = fmt::format("down{}", index);
      x = net.LayerNorm(name + ".norm", x, kNormEpsilon);
      x = net.Conv(name, x, {.outputs = stage.channels, .kernel = 2, .stride = 2});
    }
    for (int i = 0; i < stage.blocks; ++i) {
      const float place = static_cast<float>(block++) / static_cast<float>(blocks - 1);
      x = AddConvNeXtBlock(net, fmt::format("stage{}.{}", index, i), x, kMostDropped * place);
    }
    ++index;
  }
  x = net.LayerNorm("norm", net.GlobalAveragePool("pool", x), kNormEpsilon);
  net.Dense("fc", x, size.classes);
  return std::move(net).Take();
}

const NetworkRegistration kConvNeXtTiny({.name = "convnext_tiny",
                                         .source = "Liu et al. 2022; torchvision",
                                         .build = BuildConvNeXtTiny,
                                         .published = TotalsOfTorchvision(28589128, 4.456)});

}  // namespace

}  // namespace topdnn::convnext_tiny
