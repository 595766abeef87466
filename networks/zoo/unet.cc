// U-Net: Ronneberger, Fischer and Brox 2015, "U-Net: Convolutional Networks for Biomedical Image
// Segmentation", figure 1, in the form of milesial/Pytorch-UNet: convolutions with padding and
// batch normalization, transposed convolutions in the decoder. It gives logits for each pixel.

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "networks/graph/builder.h"
#include "networks/graph/zoo.h"

namespace topdnn::unet {

namespace {

ValueId AddConvPair(NetworkBuilder& net, const std::string& name, ValueId from,
                    std::int64_t outputs) {
  const ConvLayer layer = {.outputs = outputs, .kernel = 3, .padding = 1};
  return net.ConvNormRelu(name + ".conv2", net.ConvNormRelu(name + ".conv1", from, layer), layer);
}

Graph BuildUNet(const NetworkSize& size) {
  constexpr int kLevels = 4;
  // Each level halves the image, and a concatenation needs equal ones.
  if (size.image[1] % 16 != 0 || size.image[2] % 16 != 0) {
    throw std::invalid_argument("unet needs images whose sides are multiples of 16");
  }
  NetworkBuilder net("unet", size);
  std::int64_t channels = 64;
  ValueId x = AddConvPair(net, "down0", net.input(), channels);
  std::vector<ValueId> skipped;
  for (int level = 1; level <= kLevels; ++level) {
    skipped.push_back(x);
    x = net.MaxPool(fmt::format("pool{}", level), x, {.kernel = 2, .stride = 2});
    x = AddConvPair(net, fmt::format("down{}", level), x, channels *= 2);
  }
  for (int level = kLevels; level >= 1; --level) {
    const std::string name = fmt::format("up{}", level);
    x = net.Upsample(name, x, channels /= 2, 2);
    x = net.Concat(name + ".concat", {skipped[static_cast<std::size_t>(level) - 1], x});
    x = AddConvPair(net, name, x, channels);
  }
  net.Conv("out", x, {.outputs = size.classes, .kernel = 1});
  return std::move(net).Take();
}

const NetworkRegistration kUNet({.name = "unet",
                                 .source = "Ronneberger et al. 2015; milesial/Pytorch-UNet",
                                 .image = {3, 256, 256},
                                 .small = {3, 32, 32},
                                 .classes = 2,
                                 .build = BuildUNet});

}  // namespace

}  // namespace topdnn::unet
