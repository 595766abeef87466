// Adds a network, `outside`: one convolution and one dense layer.

#include <utility>

#include "networks/graph/builder.h"
#include "networks/graph/zoo.h"

namespace topdnn {

namespace {

Graph Build(const NetworkSize& size) {
  NetworkBuilder net("outside", size);
  const ValueId x = net.ConvRelu("conv", net.input(), {.outputs = 8, .kernel = 3});
  net.Dense("dense", x, size.classes);
  return std::move(net).Take();
}

const NetworkRegistration kOutside({.name = "outside",
                                    .variant = "",
                                    .source = "a test of additions from outside the tree",
                                    .image = {1, 8, 8},
                                    .small = {1, 8, 8},
                                    .classes = 10,
                                    .build = Build});

}  // namespace

}  // namespace topdnn
