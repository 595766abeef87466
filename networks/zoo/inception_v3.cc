// Inception v3: Szegedy, Vanhoucke, Ioffe, Shlens and Wojna 2016, "Rethinking the Inception
// Architecture for Computer Vision", as in torchvision, without the auxiliary classifier. Averages
// include the padding, which is PyTorch's default. The dropout is torchvision's.

#include <string>

#include "networks/graph/builder.h"
#include "networks/graph/zoo.h"

namespace topdnn::inception_v3 {

namespace {

class InceptionV3 {
 public:
  explicit InceptionV3(const NetworkSize& size)
      : net_("inception_v3", size), classes_(size.classes) {}

  Graph Build() && {
    ValueId x = Conv("conv1a", net_.input(), {.outputs = 32, .kernel = 3, .stride = 2});
    x = Conv("conv2a", x, {.outputs = 32, .kernel = 3});
    x = Conv("conv2b", x, {.outputs = 64, .kernel = 3, .padding = 1});
    x = net_.MaxPool("pool1", x, kHalve);
    x = Conv("conv3b", x, {.outputs = 80, .kernel = 1});
    x = Conv("conv4a", x, {.outputs = 192, .kernel = 3});
    x = net_.MaxPool("pool2", x, kHalve);
    x = ModuleA("mixed5b", x, 32);
    x = ModuleA("mixed5c", x, 64);
    x = ModuleA("mixed5d", x, 64);
    x = ModuleB("mixed6a", x);
    x = ModuleC("mixed6b", x, 128);
    x = ModuleC("mixed6c", x, 160);
    x = ModuleC("mixed6d", x, 160);
    x = ModuleC("mixed6e", x, 192);
    x = ModuleD("mixed7a", x);
    x = ModuleE("mixed7b", x);
    x = ModuleE("mixed7c", x);
    x = net_.Dropout("drop", net_.GlobalAveragePool("pool3", x), 0.5F);
    net_.Dense("fc", x, classes_);
    return std::move(net_).Take();
  }

 private:
  static constexpr PoolLayer kHalve = {.kernel = 3, .stride = 2};
  static constexpr float kEpsilon = 1e-3F;

  ValueId Conv(const std::string& name, ValueId from, const ConvLayer& layer) {
    return net_.ConvNormRelu(name, from, layer, kEpsilon);
  }
  ValueId One(const std::string& name, ValueId from, std::int64_t outputs) {
    return Conv(name, from, {.outputs = outputs, .kernel = 1});
  }
  ValueId Three(const std::string& name, ValueId from, std::int64_t outputs) {
    return Conv(name, from, {.outputs = outputs, .kernel = 3, .padding = 1});
  }
  ValueId ThreeHalved(const std::string& name, ValueId from, std::int64_t outputs) {
    return Conv(name, from, {.outputs = outputs, .kernel = 3, .stride = 2});
  }
  // A kernel of one row or of one column, n long.
  ValueId Row(const std::string& name, ValueId from, std::int64_t outputs, std::int64_t n) {
    return Conv(name, from, {.outputs = outputs, .kernel = 1, .kernel_w = n, .padding_w = n / 2});
  }
  ValueId Column(const std::string& name, ValueId from, std::int64_t outputs, std::int64_t n) {
    return Conv(name, from, {.outputs = outputs, .kernel = n, .padding = n / 2, .kernel_w = 1});
  }
  ValueId Pool(const std::string& name, ValueId from, std::int64_t outputs) {
    const ValueId mean =
        net_.AveragePoolOfPadding(name + ".pool", from, {.kernel = 3, .stride = 1, .padding = 1});
    return One(name + ".pool.1x1", mean, outputs);
  }

  ValueId ModuleA(const std::string& name, ValueId from, std::int64_t pool) {
    const ValueId ones = One(name + ".1x1", from, 64);
    ValueId five = One(name + ".5x5.1", from, 48);
    five = Conv(name + ".5x5.2", five, {.outputs = 64, .kernel = 5, .padding = 2});
    ValueId three = One(name + ".3x3.1", from, 64);
    three = Three(name + ".3x3.2", three, 96);
    three = Three(name + ".3x3.3", three, 96);
    return net_.Concat(name, {ones, five, three, Pool(name, from, pool)});
  }

  ValueId ModuleB(const std::string& name, ValueId from) {
    const ValueId three = ThreeHalved(name + ".3x3", from, 384);
    ValueId twice = One(name + ".double.1", from, 64);
    twice = Three(name + ".double.2", twice, 96);
    twice = ThreeHalved(name + ".double.3", twice, 96);
    return net_.Concat(name, {three, twice, net_.MaxPool(name + ".pool", from, kHalve)});
  }

  ValueId ModuleC(const std::string& name, ValueId from, std::int64_t width) {
    const ValueId ones = One(name + ".1x1", from, 192);
    ValueId seven = One(name + ".7x7.1", from, width);
    seven = Row(name + ".7x7.2", seven, width, 7);
    seven = Column(name + ".7x7.3", seven, 192, 7);
    ValueId twice = One(name + ".double.1", from, width);
    twice = Column(name + ".double.2", twice, width, 7);
    twice = Row(name + ".double.3", twice, width, 7);
    twice = Column(name + ".double.4", twice, width, 7);
    twice = Row(name + ".double.5", twice, 192, 7);
    return net_.Concat(name, {ones, seven, twice, Pool(name, from, 192)});
  }

  ValueId ModuleD(const std::string& name, ValueId from) {
    const ValueId three = ThreeHalved(name + ".3x3.2", One(name + ".3x3.1", from, 192), 320);
    ValueId seven = One(name + ".7x7.1", from, 192);
    seven = Row(name + ".7x7.2", seven, 192, 7);
    seven = Column(name + ".7x7.3", seven, 192, 7);
    seven = ThreeHalved(name + ".7x7.4", seven, 192);
    return net_.Concat(name, {three, seven, net_.MaxPool(name + ".pool", from, kHalve)});
  }

  ValueId ModuleE(const std::string& name, ValueId from) {
    const ValueId ones = One(name + ".1x1", from, 320);
    const ValueId three = Cross(name + ".3x3", One(name + ".3x3.1", from, 384));
    ValueId twice = One(name + ".double.1", from, 448);
    twice = Cross(name + ".double", Three(name + ".double.2", twice, 384));
    return net_.Concat(name, {ones, three, twice, Pool(name, from, 192)});
  }

  // A row and a column side by side.
  ValueId Cross(const std::string& name, ValueId from) {
    const ValueId row = Row(name + ".row", from, 384, 3);
    return net_.Concat(name, {row, Column(name + ".column", from, 384, 3)});
  }

  NetworkBuilder net_;
  const std::int64_t classes_;
};

Graph BuildInceptionV3(const NetworkSize& size) { return InceptionV3(size).Build(); }

const NetworkRegistration kInceptionV3({.name = "inception_v3",
                                        .source = "Szegedy et al. 2016; torchvision",
                                        .image = {3, 299, 299},
                                        .small = {3, 75, 75},
                                        .build = BuildInceptionV3,
                                        .published = TotalsOfTorchvision({}, 5.713)});

}  // namespace

}  // namespace topdnn::inception_v3
