// LeNet as Caffe trains it on MNIST: wider than LeNet-5, with max pooling and one hidden layer.
// https://github.com/BVLC/caffe/blob/master/examples/mnist/lenet_train_test.prototxt

#include "networks/graph/builder.h"
#include "networks/graph/zoo.h"

namespace topdnn::lenet {

namespace {

Graph Build(const NetworkSize& size) {
  NetworkBuilder net("lenet", size);
  ValueId x = net.Conv("conv1", net.input(), {.outputs = 20, .kernel = 5});
  x = net.MaxPool("pool1", x, {.kernel = 2, .stride = 2, .ceil_mode = true});
  x = net.Conv("conv2", x, {.outputs = 50, .kernel = 5});
  x = net.MaxPool("pool2", x, {.kernel = 2, .stride = 2, .ceil_mode = true});
  x = net.DenseRelu("ip1", x, 500);
  net.Dense("ip2", x, size.classes);
  return std::move(net).Take();
}

const NetworkRegistration kLeNet({.name = "lenet",
                                  .source = "BVLC Caffe",
                                  .image = {1, 28, 28},
                                  .small = {1, 28, 28},
                                  .classes = 10,
                                  .build = Build});

}  // namespace

}  // namespace topdnn::lenet
