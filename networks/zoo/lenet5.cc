// LeNet-5: LeCun, Bottou, Bengio and Haffner 1998, "Gradient-Based Learning Applied to Document
// Recognition", figure 2, in today's form: C3 reads all maps, the poolings have no parameters, and
// ReLU replaces the scaled hyperbolic tangent.

#include "networks/graph/builder.h"
#include "networks/graph/zoo.h"

namespace topdnn::lenet5 {

namespace {

Graph Build(const NetworkSize& size) {
  NetworkBuilder net("lenet5", size);
  ValueId x = net.ConvRelu("c1", net.input(), {.outputs = 6, .kernel = 5});
  x = net.AveragePool("s2", x, {.kernel = 2, .stride = 2});
  x = net.ConvRelu("c3", x, {.outputs = 16, .kernel = 5});
  x = net.AveragePool("s4", x, {.kernel = 2, .stride = 2});
  x = net.ConvRelu("c5", x, {.outputs = 120, .kernel = 5});
  x = net.DenseRelu("f6", x, 84);
  net.Dense("output", x, size.classes);
  return std::move(net).Take();
}

const NetworkRegistration kLeNet5({.name = "lenet5",
                                   .source = "LeCun et al. 1998",
                                   .image = {1, 32, 32},
                                   .small = {1, 32, 32},
                                   .classes = 10,
                                   .build = Build});

}  // namespace

}  // namespace topdnn::lenet5
