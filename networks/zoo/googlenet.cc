// GoogLeNet: Szegedy et al. 2015, "Going Deeper with Convolutions", table 1, without the auxiliary
// classifiers. The default is the published network, with response normalization as BVLC has it;
// the variant `bn` is torchvision's, batch-normalized, with a 3x3 in place of each 5x5 and 2x2
// windows in the last pooling that halves.
// https://github.com/BVLC/caffe/blob/master/models/bvlc_googlenet/train_val.prototxt

#include "networks/graph/builder.h"
#include "networks/graph/zoo.h"

namespace topdnn::googlenet {

namespace {

struct Inception {
  const char* name;
  std::int64_t ones;                 // 1x1
  std::int64_t reduce_three, three;  // 1x1, then 3x3
  std::int64_t reduce_five, five;    // 1x1, then 5x5
  std::int64_t pool;                 // 3x3 maximum, then 1x1
};

constexpr Inception kThree[] = {{"3a", 64, 96, 128, 16, 32, 32}, {"3b", 128, 128, 192, 32, 96, 64}};
constexpr Inception kFour[] = {{"4a", 192, 96, 208, 16, 48, 64},
                               {"4b", 160, 112, 224, 24, 64, 64},
                               {"4c", 128, 128, 256, 24, 64, 64},
                               {"4d", 112, 144, 288, 32, 64, 64},
                               {"4e", 256, 160, 320, 32, 128, 128}};
constexpr Inception kFive[] = {{"5a", 256, 160, 320, 32, 128, 128},
                               {"5b", 384, 192, 384, 48, 128, 128}};

class Builder {
 public:
  Builder(const std::string& name, const NetworkSize& size, bool norm)
      : net_(name, size), classes_(size.classes), norm_(norm) {}

  Graph Build() && {
    ValueId x =
        Conv("conv1", net_.input(), {.outputs = 64, .kernel = 7, .stride = 2, .padding = 3});
    x = ResponseNorm("norm1", net_.MaxPool("pool1", x, kHalve));
    x = Conv("conv2.reduce", x, {.outputs = 64, .kernel = 1});
    x = Conv("conv2", x, {.outputs = 192, .kernel = 3, .padding = 1});
    x = net_.MaxPool("pool2", ResponseNorm("norm2", x), kHalve);
    for (const Inception& module : kThree) x = Module(module, x);
    x = net_.MaxPool("pool3", x, kHalve);
    for (const Inception& module : kFour) x = Module(module, x);
    x = net_.MaxPool("pool4", x, norm_ ? kHalvePairs : kHalve);
    for (const Inception& module : kFive) x = Module(module, x);
    x = net_.GlobalAveragePool("pool5", x);
    net_.Dense("classifier", net_.Dropout("drop5", x, norm_ ? 0.2F : 0.4F), classes_);
    return std::move(net_).Take();
  }

 private:
  static constexpr PoolLayer kHalve = {.kernel = 3, .stride = 2, .ceil_mode = true};
  static constexpr PoolLayer kHalvePairs = {.kernel = 2, .stride = 2, .ceil_mode = true};
  static constexpr float kEpsilon = 1e-3F;  // torchvision's

  ValueId Conv(const std::string& name, ValueId from, const ConvLayer& layer) {
    return norm_ ? net_.ConvNormRelu(name, from, layer, kEpsilon)
                 : net_.ConvRelu(name, from, layer);
  }

  ValueId ResponseNorm(const std::string& name, ValueId from) {
    constexpr LrnSettings kNorm = {.size = 5, .alpha = 1e-4F, .beta = 0.75F};
    return norm_ ? from : net_.Lrn(name, from, kNorm);
  }

  ValueId Module(const Inception& m, ValueId from) {
    const std::string name = m.name;
    const ValueId ones = Conv(name + ".1x1", from, {.outputs = m.ones, .kernel = 1});
    ValueId three = Conv(name + ".3x3.reduce", from, {.outputs = m.reduce_three, .kernel = 1});
    three = Conv(name + ".3x3", three, {.outputs = m.three, .kernel = 3, .padding = 1});
    ValueId five = Conv(name + ".5x5.reduce", from, {.outputs = m.reduce_five, .kernel = 1});
    five = norm_ ? Conv(name + ".5x5", five, {.outputs = m.five, .kernel = 3, .padding = 1})
                 : Conv(name + ".5x5", five, {.outputs = m.five, .kernel = 5, .padding = 2});
    ValueId pool = net_.MaxPool(name + ".pool", from, {.kernel = 3, .stride = 1, .padding = 1});
    pool = Conv(name + ".pool.1x1", pool, {.outputs = m.pool, .kernel = 1});
    return net_.Concat(name, {ones, three, five, pool});
  }

  NetworkBuilder net_;
  const std::int64_t classes_;
  const bool norm_;
};

Graph BuildPublished(const NetworkSize& size) { return Builder("googlenet", size, false).Build(); }
Graph BuildNormalized(const NetworkSize& size) {
  return Builder("googlenet:bn", size, true).Build();
}

const NetworkRegistration kGoogLeNet({.name = "googlenet",
                                      .source = "Szegedy et al. 2015; BVLC Caffe",
                                      .build = BuildPublished});
const NetworkRegistration kNormalized({.name = "googlenet",
                                       .variant = "bn",
                                       .source = "torchvision",
                                       .build = BuildNormalized,
                                       .published = TotalsOfTorchvision(6624904, 1.498)});

}  // namespace

}  // namespace topdnn::googlenet
