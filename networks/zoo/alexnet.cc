// AlexNet in two forms.
//
// The default is BVLC's: Krizhevsky, Sutskever and Hinton 2012, "ImageNet Classification with Deep
// Convolutional Neural Networks". The paper's halves on two GPUs are groups; images are 227x227.
// https://github.com/BVLC/caffe/blob/master/models/bvlc_alexnet/train_val.prototxt
// The variant has one tower: Krizhevsky 2014, "One weird trick for parallelizing convolutional
// neural networks", in torchvision's form: conv4 has 256 filters and not 384, there is no response
// normalization, and the dropouts are before the hidden layers.

#include "networks/graph/builder.h"
#include "networks/graph/zoo.h"

namespace topdnn::alexnet {

namespace {

Graph BuildBvlc(const NetworkSize& size) {
  constexpr LrnSettings kNorm = {.size = 5, .alpha = 1e-4F, .beta = 0.75F};
  constexpr PoolLayer kPool = {.kernel = 3, .stride = 2, .ceil_mode = true};
  NetworkBuilder net("alexnet", size);
  ValueId x = net.ConvRelu("conv1", net.input(), {.outputs = 96, .kernel = 11, .stride = 4});
  x = net.MaxPool("pool1", net.Lrn("norm1", x, kNorm), kPool);
  x = net.ConvRelu("conv2", x, {.outputs = 256, .kernel = 5, .padding = 2, .groups = 2});
  x = net.MaxPool("pool2", net.Lrn("norm2", x, kNorm), kPool);
  x = net.ConvRelu("conv3", x, {.outputs = 384, .kernel = 3, .padding = 1});
  x = net.ConvRelu("conv4", x, {.outputs = 384, .kernel = 3, .padding = 1, .groups = 2});
  x = net.ConvRelu("conv5", x, {.outputs = 256, .kernel = 3, .padding = 1, .groups = 2});
  x = net.DenseRelu("fc6", net.MaxPool("pool5", x, kPool), 4096);
  x = net.DenseRelu("fc7", net.Dropout("drop6", x, 0.5F), 4096);
  net.Dense("fc8", net.Dropout("drop7", x, 0.5F), size.classes);
  return std::move(net).Take();
}

Graph BuildOneTower(const NetworkSize& size) {
  constexpr PoolLayer kPool = {.kernel = 3, .stride = 2};
  NetworkBuilder net("alexnet:one-tower", size);
  ValueId x =
      net.ConvRelu("conv1", net.input(), {.outputs = 64, .kernel = 11, .stride = 4, .padding = 2});
  x = net.MaxPool("pool1", x, kPool);
  x = net.ConvRelu("conv2", x, {.outputs = 192, .kernel = 5, .padding = 2});
  x = net.MaxPool("pool2", x, kPool);
  x = net.ConvRelu("conv3", x, {.outputs = 384, .kernel = 3, .padding = 1});
  x = net.ConvRelu("conv4", x, {.outputs = 256, .kernel = 3, .padding = 1});
  x = net.ConvRelu("conv5", x, {.outputs = 256, .kernel = 3, .padding = 1});
  x = net.Dropout("drop5", net.MaxPool("pool5", x, kPool), 0.5F);
  x = net.Dropout("drop6", net.DenseRelu("fc6", x, 4096), 0.5F);
  net.Dense("fc8", net.DenseRelu("fc7", x, 4096), size.classes);
  return std::move(net).Take();
}

const NetworkRegistration kBvlc({.name = "alexnet",
                                 .source = "Krizhevsky et al. 2012; BVLC Caffe",
                                 .image = {3, 227, 227},
                                 .small = {3, 67, 67},
                                 .build = BuildBvlc});
const NetworkRegistration kOneTower({.name = "alexnet",
                                     .variant = "one-tower",
                                     .source = "Krizhevsky 2014; torchvision",
                                     .small = {3, 67, 67},
                                     .build = BuildOneTower,
                                     .published = TotalsOfTorchvision(61100840, 0.714)});

}  // namespace

}  // namespace topdnn::alexnet
