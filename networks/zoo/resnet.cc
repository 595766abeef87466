// ResNet-18 and ResNet-50: He, Zhang, Ren and Sun 2016, "Deep Residual Learning for Image
// Recognition", table 1. ResNet-50 halves the image in the 3x3 convolution of a block (v1.5:
// torchvision, NVIDIA). The variant v1 halves it in the first 1x1 convolution, as published.
// ResNeXt-50 (32x4d): Xie, Girshick, Dollar, Tu and He 2017, "Aggregated Residual Transformations
// for Deep Neural Networks", table 1: twice as wide, with 32 groups in the 3x3 convolution.

#include <fmt/format.h>

#include <string>
#include <vector>

#include "networks/graph/builder.h"
#include "networks/graph/zoo.h"

namespace topdnn::resnet {

namespace {

// Channels of a bottleneck's last 1x1 convolution, per channel of its width.
constexpr std::int64_t kExpansion = 4;

class Builder {
 public:
  enum class Block { kBasic, kBottleneck, kBottleneckV1, kGrouped };

  Builder(const std::string& name, const NetworkSize& size, Block block)
      : net_(name, size), classes_(size.classes), block_(block) {}

  Graph Build(const std::vector<int>& blocks) && {
    ValueId x = net_.ConvNormRelu("conv1", net_.input(),
                                  {.outputs = 64, .kernel = 7, .stride = 2, .padding = 3});
    x = net_.MaxPool("pool1", x, {.kernel = 3, .stride = 2, .padding = 1});
    std::int64_t width = 64;
    for (std::size_t stage = 0; stage < blocks.size(); ++stage, width *= 2) {
      for (int i = 0; i < blocks[stage]; ++i) {
        const std::int64_t stride = stage > 0 && i == 0 ? 2 : 1;
        x = Residual(fmt::format("layer{}.{}", stage + 1, i), x, width, stride);
      }
    }
    net_.Dense("fc", net_.GlobalAveragePool("pool2", x), classes_);
    return std::move(net_).Take();
  }

 private:
  // The shortcut is computed before the branch, so that inference can add it in the last
  // convolution of the branch.
  ValueId Residual(const std::string& name, ValueId from, std::int64_t width, std::int64_t stride) {
    const std::int64_t outputs = block_ == Block::kBasic ? width : kExpansion * width;
    ValueId shortcut = from;
    if (stride != 1 || net_.shape(from)[1] != outputs) {
      shortcut = net_.ConvNorm(name + ".shortcut", from,
                               {.outputs = outputs, .kernel = 1, .stride = stride});
    }
    const ValueId branch = block_ == Block::kBasic ? Basic(name, from, width, stride)
                                                   : Bottleneck(name, from, width, stride);
    return net_.Relu(name + ".relu", net_.Add(name + ".add", branch, shortcut));
  }

  ValueId Basic(const std::string& name, ValueId x, std::int64_t width, std::int64_t stride) {
    x = net_.ConvNormRelu(name + ".conv1", x,
                          {.outputs = width, .kernel = 3, .stride = stride, .padding = 1});
    return net_.ConvNorm(name + ".conv2", x, {.outputs = width, .kernel = 3, .padding = 1});
  }

  ValueId Bottleneck(const std::string& name, ValueId x, std::int64_t width, std::int64_t stride) {
    const bool first = block_ == Block::kBottleneckV1;
    const bool grouped = block_ == Block::kGrouped;
    const std::int64_t inner = grouped ? 2 * width : width;
    x = net_.ConvNormRelu(name + ".conv1", x,
                          {.outputs = inner, .kernel = 1, .stride = first ? stride : 1});
    x = net_.ConvNormRelu(name + ".conv2", x,
                          {.outputs = inner,
                           .kernel = 3,
                           .stride = first ? 1 : stride,
                           .padding = 1,
                           .groups = grouped ? 32 : 1});
    return net_.ConvNorm(name + ".conv3", x, {.outputs = kExpansion * width, .kernel = 1});
  }

  NetworkBuilder net_;
  const std::int64_t classes_;
  const Block block_;
};

Graph BuildResNet18(const NetworkSize& size) {
  return Builder("resnet18", size, Builder::Block::kBasic).Build({2, 2, 2, 2});
}
Graph BuildResNet50(const NetworkSize& size) {
  return Builder("resnet50", size, Builder::Block::kBottleneck).Build({3, 4, 6, 3});
}
Graph BuildResNet50V1(const NetworkSize& size) {
  return Builder("resnet50:v1", size, Builder::Block::kBottleneckV1).Build({3, 4, 6, 3});
}
Graph BuildResNeXt50(const NetworkSize& size) {
  return Builder("resnext50", size, Builder::Block::kGrouped).Build({3, 4, 6, 3});
}

const NetworkRegistration kResNet18({.name = "resnet18",
                                     .source = "He et al. 2016; torchvision",
                                     .build = BuildResNet18,
                                     .published = TotalsOfTorchvision(11689512, 1.814)});
const NetworkRegistration kResNet50({.name = "resnet50",
                                     .source = "He et al. 2016; torchvision (v1.5)",
                                     .build = BuildResNet50,
                                     .published = TotalsOfTorchvision(25557032, 4.089)});
const NetworkRegistration kResNet50V1(
    {.name = "resnet50", .variant = "v1", .source = "He et al. 2016", .build = BuildResNet50V1});
const NetworkRegistration kResNeXt50({.name = "resnext50",
                                      .source = "Xie et al. 2017; torchvision (32x4d)",
                                      .build = BuildResNeXt50,
                                      .published = TotalsOfTorchvision(25028904, 4.230)});

}  // namespace

}  // namespace topdnn::resnet
