// RegNetY-400MF: Radosavovic, Kosaraju, Girshick, He and Dollar 2020, "Designing Network Design
// Spaces", appendix, as in torchvision.

#include <fmt/format.h>

#include <string>

#include "networks/graph/builder.h"
#include "networks/graph/zoo.h"

namespace topdnn::regnet_y_400mf {

namespace {

struct RegNetStage {
  std::int64_t outputs;
  int blocks;
};

constexpr std::int64_t kGroupWidth = 8;
constexpr RegNetStage kRegNetStages[] = {{48, 1}, {104, 3}, {208, 6}, {440, 6}};

// The shortcut is computed before the branch, so that inference can add it in the last convolution
// of the branch.
ValueId AddRegNetBlock(NetworkBuilder& net, const std::string& name, ValueId from,
                       std::int64_t outputs, std::int64_t stride) {
  const std::int64_t channels = net.shape(from)[1];
  ValueId shortcut = from;
  if (stride != 1 || channels != outputs) {
    shortcut =
        net.ConvNorm(name + ".shortcut", from, {.outputs = outputs, .kernel = 1, .stride = stride});
  }
  ValueId x = net.ConvNormRelu(name + ".conv1", from, {.outputs = outputs, .kernel = 1});
  x = net.ConvNormRelu(name + ".conv2", x,
                       {.outputs = outputs,
                        .kernel = 3,
                        .stride = stride,
                        .padding = 1,
                        .groups = outputs / kGroupWidth});
  x = net.SqueezeExcite(name + ".se", x, channels / 4, Activation::kRelu,
                        NetworkBuilder::Gate::kSigmoid);
  x = net.ConvNorm(name + ".conv3", x, {.outputs = outputs, .kernel = 1});
  return net.Relu(name + ".relu", net.Add(name + ".add", x, shortcut));
}

Graph BuildRegNetY400(const NetworkSize& size) {
  NetworkBuilder net("regnet_y_400mf", size);
  ValueId x = net.ConvNormRelu("conv1", net.input(),
                               {.outputs = 32, .kernel = 3, .stride = 2, .padding = 1});
  int index = 1;
  for (const RegNetStage& stage : kRegNetStages) {
    for (int i = 0; i < stage.blocks; ++i) {
      x = AddRegNetBlock(net, fmt::format("stage{}.{}", index, i), x, stage.outputs,
                         i == 0 ? 2 : 1);
    }
    ++index;
  }
  net.Dense("fc", net.GlobalAveragePool("pool", x), size.classes);
  return std::move(net).Take();
}

const NetworkRegistration kRegNetY400({.name = "regnet_y_400mf",
                                       .source = "Radosavovic et al. 2020; torchvision",
                                       .build = BuildRegNetY400,
                                       .published = TotalsOfTorchvision(4344144, 0.402)});

}  // namespace

}  // namespace topdnn::regnet_y_400mf
