// VGG-16 and VGG-19: Simonyan and Zisserman 2015, "Very Deep Convolutional Networks for Large-Scale
// Image Recognition", table 1, configurations D and E.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "networks/graph/builder.h"
#include "networks/graph/zoo.h"

namespace topdnn::vgg {

namespace {

Graph Build(const std::string& name, const NetworkSize& size,
            const std::vector<int>& convolutions) {
  NetworkBuilder net(name, size);
  ValueId x = net.input();
  std::int64_t outputs = 64;
  for (std::size_t block = 0; block < convolutions.size(); ++block) {
    for (int i = 1; i <= convolutions[block]; ++i) {
      x = net.ConvRelu(fmt::format("conv{}_{}", block + 1, i), x,
                       {.outputs = outputs, .kernel = 3, .padding = 1});
    }
    x = net.MaxPool(fmt::format("pool{}", block + 1), x, {.kernel = 2, .stride = 2});
    outputs = std::min<std::int64_t>(2 * outputs, 512);
  }
  x = net.Dropout("drop6", net.DenseRelu("fc6", x, 4096), 0.5F);
  x = net.Dropout("drop7", net.DenseRelu("fc7", x, 4096), 0.5F);
  net.Dense("fc8", x, size.classes);
  return std::move(net).Take();
}

Graph BuildVgg16(const NetworkSize& size) { return Build("vgg16", size, {2, 2, 3, 3, 3}); }
Graph BuildVgg19(const NetworkSize& size) { return Build("vgg19", size, {2, 2, 4, 4, 4}); }

const NetworkRegistration kVgg16({.name = "vgg16",
                                  .source = "Simonyan and Zisserman 2015, D",
                                  .small = {3, 32, 32},
                                  .build = BuildVgg16,
                                  .published = TotalsOfTorchvision(138357544, 15.470)});
const NetworkRegistration kVgg19({.name = "vgg19",
                                  .source = "Simonyan and Zisserman 2015, E",
                                  .small = {3, 32, 32},
                                  .build = BuildVgg19,
                                  .published = TotalsOfTorchvision(143667240, 19.632)});

}  // namespace

}  // namespace topdnn::vgg
