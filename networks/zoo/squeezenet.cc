// SqueezeNet: Iandola, Han, Moskewicz, Ashraf, Dally and Keutzer 2016, "SqueezeNet: AlexNet-level
// accuracy with 50x fewer parameters and <0.5MB model size". The default is the authors' version
// 1.1, the variant `v1.0` the published network; both as in torchvision.

#include <fmt/format.h>

#include <string>

#include "networks/graph/builder.h"
#include "networks/graph/zoo.h"

namespace topdnn::squeezenet {

namespace {

// A 1x1 convolution squeezes the channels; a 1x1 and a 3x3 convolution expand them side by side.
ValueId AddFire(NetworkBuilder& net, const std::string& name, ValueId from, std::int64_t squeeze,
                std::int64_t expand) {
  const ValueId x = net.ConvRelu(name + ".squeeze", from, {.outputs = squeeze, .kernel = 1});
  const ValueId ones = net.ConvRelu(name + ".expand1x1", x, {.outputs = expand, .kernel = 1});
  const ValueId threes =
      net.ConvRelu(name + ".expand3x3", x, {.outputs = expand, .kernel = 3, .padding = 1});
  return net.Concat(name, {ones, threes});
}

// The second and the third pooling come after the modules of these numbers.
Graph BuildSqueezeNet(const std::string& name, const NetworkSize& size, const ConvLayer& first,
                      int pool2, int pool3) {
  constexpr PoolLayer kHalve = {.kernel = 3, .stride = 2, .ceil_mode = true};
  NetworkBuilder net(name, size);
  ValueId x = net.MaxPool("pool1", net.ConvRelu("conv1", net.input(), first), kHalve);
  constexpr std::int64_t kSqueeze[] = {16, 16, 32, 32, 48, 48, 64, 64};
  for (int i = 0; i < 8; ++i) {
    const int module = i + 2;
    x = AddFire(net, fmt::format("fire{}", module), x, kSqueeze[i], 4 * kSqueeze[i]);
    if (module == pool2) x = net.MaxPool("pool2", x, kHalve);
    if (module == pool3) x = net.MaxPool("pool3", x, kHalve);
  }
  x = net.ConvRelu("conv10", net.Dropout("drop9", x, 0.5F), {.outputs = size.classes, .kernel = 1});
  net.Reshape("flat", net.GlobalAveragePool("pool10", x), {size.batch, size.classes});
  return std::move(net).Take();
}

Graph BuildSqueezeNet11(const NetworkSize& size) {
  return BuildSqueezeNet("squeezenet", size, {.outputs = 64, .kernel = 3, .stride = 2}, 3, 5);
}
Graph BuildSqueezeNet10(const NetworkSize& size) {
  return BuildSqueezeNet("squeezenet:v1.0", size, {.outputs = 96, .kernel = 7, .stride = 2}, 4, 8);
}

const NetworkRegistration kSqueezeNet11({.name = "squeezenet",
                                         .source = "Iandola et al. 2016; torchvision (1.1)",
                                         .build = BuildSqueezeNet11,
                                         .published = TotalsOfTorchvision(1235496, 0.349)});
const NetworkRegistration kSqueezeNet10({.name = "squeezenet",
                                         .variant = "v1.0",
                                         .source = "Iandola et al. 2016; torchvision",
                                         .build = BuildSqueezeNet10,
                                         .published = TotalsOfTorchvision(1248424, 0.819)});

}  // namespace

}  // namespace topdnn::squeezenet
