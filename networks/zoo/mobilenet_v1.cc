// MobileNet, 1.0 at 224: Howard et al. 2017, "MobileNets: Efficient Convolutional Neural Networks
// for Mobile Vision Applications", table 1. The last depthwise convolution has stride 1, as the
// table's sizes of 7x7 need; the stride of 2 that the table gives contradicts them.

#include <fmt/format.h>

#include <string>

#include "networks/graph/builder.h"
#include "networks/graph/zoo.h"

namespace topdnn::mobilenet_v1 {

namespace {

struct Separable {
  std::int64_t outputs, stride;
};

constexpr Separable kLayers[] = {{64, 1},  {128, 2},  {128, 1}, {256, 2}, {256, 1},
                                 {512, 2}, {512, 1},  {512, 1}, {512, 1}, {512, 1},
                                 {512, 1}, {1024, 2}, {1024, 1}};

Graph Build(const NetworkSize& size) {
  NetworkBuilder net("mobilenet_v1", size);
  ValueId x = net.ConvNormRelu("conv1", net.input(),
                               {.outputs = 32, .kernel = 3, .stride = 2, .padding = 1});
  int index = 2;
  for (const Separable& layer : kLayers) {
    const std::string name = fmt::format("conv{}", index++);
    const std::int64_t channels = net.shape(x)[1];
    x = net.ConvNormRelu(name + ".depthwise", x,
                         {.outputs = channels,
                          .kernel = 3,
                          .stride = layer.stride,
                          .padding = 1,
                          .groups = channels});
    x = net.ConvNormRelu(name + ".pointwise", x, {.outputs = layer.outputs, .kernel = 1});
  }
  net.Dense("fc", net.GlobalAveragePool("pool", x), size.classes);
  return std::move(net).Take();
}

const NetworkRegistration kMobileNetV1({.name = "mobilenet_v1",
                                        .source = "Howard et al. 2017",
                                        .build = Build,
                                        .published = {.parameters = PublishedFigure{4.2e6, 1e5},
                                                      .macs = PublishedFigure{569e6, 1e6},
                                                      .source = "Howard et al. 2017, table 8"}});

}  // namespace

}  // namespace topdnn::mobilenet_v1
