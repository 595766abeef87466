// EfficientNet-B0: Tan and Le 2019, "EfficientNet: Rethinking Model Scaling for Convolutional
// Neural Networks", table 1, as in torchvision: in training, stochastic depth drops the branches of
// whole images, the more often the deeper, up to a fifth of them.

#include <fmt/format.h>

#include "networks/graph/builder.h"
#include "networks/graph/zoo.h"

namespace topdnn::efficientnet_b0 {

namespace {

struct MbConvs {
  std::int64_t expansion, kernel, stride, outputs;
  int repeats;
};

constexpr MbConvs kMbConvs[] = {{1, 3, 1, 16, 1}, {6, 3, 2, 24, 2},  {6, 5, 2, 40, 2},
                                {6, 3, 2, 80, 3}, {6, 5, 1, 112, 3}, {6, 5, 2, 192, 4},
                                {6, 3, 1, 320, 1}};

Graph BuildEfficientNetB0(const NetworkSize& size) {
  NetworkBuilder net("efficientnet_b0", size);
  const Activation swish = Activation::kSwish;
  ValueId x = net.ConvNormActivation(
      "conv1", net.input(), {.outputs = 32, .kernel = 3, .stride = 2, .padding = 1}, swish);
  int index = 1, block = 0, blocks = 0;
  for (const MbConvs& stage : kMbConvs) blocks += stage.repeats;
  for (const MbConvs& stage : kMbConvs) {
    for (int i = 0; i < stage.repeats; ++i) {
      const std::int64_t channels = net.shape(x)[1];
      x = net.AddInvertedResidual(
          fmt::format("stage{}.{}", index, i), x,
          {.expanded = stage.expansion * channels,
           .kernel = stage.kernel,
           .stride = i == 0 ? stage.stride : 1,
           .outputs = stage.outputs,
           .activation = swish,
           .squeezed = channels / 4,
           .squeeze_activation = swish,
           .dropped = 0.2F * static_cast<float>(block++) / static_cast<float>(blocks)});
    }
    ++index;
  }
  x = net.ConvNormActivation("conv2", x, {.outputs = 1280, .kernel = 1}, swish);
  x = net.Dropout("drop", net.GlobalAveragePool("pool", x), 0.2F);
  net.Dense("fc", x, size.classes);
  return std::move(net).Take();
}

const NetworkRegistration kEfficientNetB0({.name = "efficientnet_b0",
                                           .source = "Tan and Le 2019; torchvision",
                                           .build = BuildEfficientNetB0,
                                           .published = TotalsOfTorchvision(5288548, 0.386)});

}  // namespace

}  // namespace topdnn::efficientnet_b0
