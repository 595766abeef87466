// MnasNet-B1, 1.0: Tan, Chen, Pang, Vasudevan, Sandler, Howard and Le 2019, "MnasNet:
// Platform-Aware Neural Architecture Search for Mobile", as in torchvision.

#include <fmt/format.h>

#include "networks/graph/builder.h"
#include "networks/graph/zoo.h"

namespace topdnn::mnasnet {

namespace {

struct MnasStack {
  std::int64_t outputs, kernel, stride, expansion;
  int repeats;
};

constexpr MnasStack kMnasStacks[] = {{24, 3, 2, 3, 3}, {40, 5, 2, 3, 3},  {80, 5, 2, 6, 3},
                                     {96, 3, 1, 6, 2}, {192, 5, 2, 6, 4}, {320, 3, 1, 6, 1}};

Graph BuildMnasNet(const NetworkSize& size) {
  NetworkBuilder net("mnasnet", size);
  ValueId x = net.ConvNormRelu("conv1", net.input(),
                               {.outputs = 32, .kernel = 3, .stride = 2, .padding = 1});
  x = net.ConvNormRelu("depthwise", x, {.outputs = 32, .kernel = 3, .padding = 1, .groups = 32});
  x = net.ConvNorm("project", x, {.outputs = 16, .kernel = 1});
  int index = 1;
  for (const MnasStack& stack : kMnasStacks) {
    for (int i = 0; i < stack.repeats; ++i) {
      x = net.AddInvertedResidual(fmt::format("stack{}.{}", index, i), x,
                                  {.expanded = stack.expansion * net.shape(x)[1],
                                   .kernel = stack.kernel,
                                   .stride = i == 0 ? stack.stride : 1,
                                   .outputs = stack.outputs,
                                   .activation = Activation::kRelu});
    }
    ++index;
  }
  x = net.ConvNormRelu("conv2", x, {.outputs = 1280, .kernel = 1});
  x = net.Dropout("drop", net.GlobalAveragePool("pool", x), 0.2F);
  net.Dense("fc", x, size.classes);
  return std::move(net).Take();
}

const NetworkRegistration kMnasNet({.name = "mnasnet",
                                    .source = "Tan et al. 2019; torchvision (1.0)",
                                    .build = BuildMnasNet,
                                    .published = TotalsOfTorchvision(4383312, 0.314)});

}  // namespace

}  // namespace topdnn::mnasnet
