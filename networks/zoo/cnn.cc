// The small CNN of TensorFlow's CIFAR-10 tutorial: three valid 3x3 convolutions of 32, 64 and 64
// filters, 2x2 max pooling after the first two, dense layers of 64 and of the classes.
// https://www.tensorflow.org/tutorials/images/cnn

#include "networks/graph/builder.h"
#include "networks/graph/zoo.h"

namespace topdnn::cnn {

namespace {

Graph Build(const NetworkSize& size) {
  NetworkBuilder net("cnn", size);
  ValueId x = net.input();
  x = net.Relu("relu1", net.Conv("conv1", x, {.outputs = 32, .kernel = 3}));
  x = net.MaxPool("pool1", x, {.kernel = 2, .stride = 2});
  x = net.Relu("relu2", net.Conv("conv2", x, {.outputs = 64, .kernel = 3}));
  x = net.MaxPool("pool2", x, {.kernel = 2, .stride = 2});
  x = net.Relu("relu3", net.Conv("conv3", x, {.outputs = 64, .kernel = 3}));
  x = net.Relu("relu4", net.Dense("dense1", x, 64));
  net.Dense("dense2", x, size.classes);
  return std::move(net).Take();
}

const NetworkRegistration kCnn({.name = "cnn",
                                .source = "TensorFlow CNN tutorial (CIFAR-10)",
                                .image = {3, 32, 32},
                                .small = {3, 32, 32},
                                .classes = 10,
                                .build = Build});

}  // namespace

}  // namespace topdnn::cnn
