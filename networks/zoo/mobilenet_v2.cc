// MobileNetV2, 1.0 at 224: Sandler, Howard, Zhu, Zhmoginov and Chen 2018, "MobileNetV2: Inverted
// Residuals and Linear Bottlenecks", table 2. The dropout before the last layer is torchvision's.

#include <fmt/format.h>

#include "networks/graph/builder.h"
#include "networks/graph/zoo.h"

namespace topdnn::mobilenet_v2 {

namespace {

struct Bottlenecks {
  std::int64_t expansion, outputs;
  int repeats;
  std::int64_t stride;  // stride of the first block
};

constexpr Bottlenecks kStages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                                   {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};

Graph Build(const NetworkSize& size) {
  NetworkBuilder net("mobilenet_v2", size);
  const Activation relu6 = Activation::kRelu6;
  ValueId x = net.ConvNormActivation(
      "conv1", net.input(), {.outputs = 32, .kernel = 3, .stride = 2, .padding = 1}, relu6);
  int index = 1;
  for (const Bottlenecks& stage : kStages) {
    for (int i = 0; i < stage.repeats; ++i) {
      x = net.AddInvertedResidual(fmt::format("block{}", index++), x,
                                  {.expanded = stage.expansion * net.shape(x)[1],
                                   .kernel = 3,
                                   .stride = i == 0 ? stage.stride : 1,
                                   .outputs = stage.outputs,
                                   .activation = relu6});
    }
  }
  x = net.ConvNormActivation("conv2", x, {.outputs = 1280, .kernel = 1}, relu6);
  x = net.Dropout("drop", net.GlobalAveragePool("pool", x), 0.2F);
  net.Dense("fc", x, size.classes);
  return std::move(net).Take();
}

const NetworkRegistration kMobileNetV2({.name = "mobilenet_v2",
                                        .source = "Sandler et al. 2018; torchvision",
                                        .build = Build,
                                        .published = TotalsOfTorchvision(3504872, 0.301)});

}  // namespace

}  // namespace topdnn::mobilenet_v2
