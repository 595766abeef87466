// MobileNetV3, large and small, 1.0 at 224: Howard et al. 2019, "Searching for MobileNetV3", tables
// 1 and 2, as in torchvision, which has the dropout before the last layer.

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>

#include "networks/graph/builder.h"
#include "networks/graph/zoo.h"

namespace topdnn::mobilenet_v3 {

namespace {

struct Bneck {
  std::int64_t kernel, expanded, outputs;
  bool squeeze;
  Activation activation;
  std::int64_t stride;
};

constexpr Activation kRe = Activation::kRelu;
constexpr Activation kHs = Activation::kHardSwish;
constexpr Bneck kLargeBnecks[] = {
    {3, 16, 16, false, kRe, 1},  {3, 64, 24, false, kRe, 2},  {3, 72, 24, false, kRe, 1},
    {5, 72, 40, true, kRe, 2},   {5, 120, 40, true, kRe, 1},  {5, 120, 40, true, kRe, 1},
    {3, 240, 80, false, kHs, 2}, {3, 200, 80, false, kHs, 1}, {3, 184, 80, false, kHs, 1},
    {3, 184, 80, false, kHs, 1}, {3, 480, 112, true, kHs, 1}, {3, 672, 112, true, kHs, 1},
    {5, 672, 160, true, kHs, 2}, {5, 960, 160, true, kHs, 1}, {5, 960, 160, true, kHs, 1}};
constexpr Bneck kSmallBnecks[] = {
    {3, 16, 16, true, kRe, 2},  {3, 72, 24, false, kRe, 2}, {3, 88, 24, false, kRe, 1},
    {5, 96, 40, true, kHs, 2},  {5, 240, 40, true, kHs, 1}, {5, 240, 40, true, kHs, 1},
    {5, 120, 48, true, kHs, 1}, {5, 144, 48, true, kHs, 1}, {5, 288, 96, true, kHs, 2},
    {5, 576, 96, true, kHs, 1}, {5, 576, 96, true, kHs, 1}};

constexpr float kV3Epsilon = 1e-3F;

// A quarter of the channels, rounded to a multiple of 8 that is at least nine tenths of it.
std::int64_t SqueezedChannels(std::int64_t expanded) {
  const std::int64_t quarter = expanded / 4;
  const std::int64_t rounded = std::max<std::int64_t>(8, (quarter + 4) / 8 * 8);
  return 10 * rounded < 9 * quarter ? rounded + 8 : rounded;
}

Graph BuildMobileNetV3(const std::string& name, const NetworkSize& size,
                       std::span<const Bneck> bnecks, std::int64_t last) {
  NetworkBuilder net(name, size);
  ValueId x = net.ConvNormActivation("conv1", net.input(),
                                     {.outputs = 16, .kernel = 3, .stride = 2, .padding = 1}, kHs,
                                     kV3Epsilon);
  int index = 1;
  for (const Bneck& bneck : bnecks) {
    x = net.AddInvertedResidual(fmt::format("block{}", index++), x,
                                {.expanded = bneck.expanded,
                                 .kernel = bneck.kernel,
                                 .stride = bneck.stride,
                                 .outputs = bneck.outputs,
                                 .activation = bneck.activation,
                                 .squeezed = bneck.squeeze ? SqueezedChannels(bneck.expanded) : 0,
                                 .hard_gate = true,
                                 .epsilon = kV3Epsilon});
  }
  x = net.ConvNormActivation("conv2", x, {.outputs = 6 * bnecks.back().outputs, .kernel = 1}, kHs,
                             kV3Epsilon);
  x = net.Activate("fc1", net.Dense("fc1", net.GlobalAveragePool("pool", x), last), kHs);
  net.Dense("fc2", net.Dropout("drop", x, 0.2F), size.classes);
  return std::move(net).Take();
}

Graph BuildMobileNetV3Large(const NetworkSize& size) {
  return BuildMobileNetV3("mobilenet_v3_large", size, kLargeBnecks, 1280);
}
Graph BuildMobileNetV3Small(const NetworkSize& size) {
  return BuildMobileNetV3("mobilenet_v3_small", size, kSmallBnecks, 1024);
}

const NetworkRegistration kMobileNetV3Large({.name = "mobilenet_v3_large",
                                             .source = "Howard et al. 2019; torchvision",
                                             .build = BuildMobileNetV3Large,
                                             .published = TotalsOfTorchvision(5483032, 0.217)});
const NetworkRegistration kMobileNetV3Small({.name = "mobilenet_v3_small",
                                             .source = "Howard et al. 2019; torchvision",
                                             .build = BuildMobileNetV3Small,
                                             .published = TotalsOfTorchvision(2542856, 0.057)});

}  // namespace

}  // namespace topdnn::mobilenet_v3
