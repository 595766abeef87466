// Parameters whose effect a network takes away again.

#ifndef TOPDNN_NETWORKS_CANCELLED_PARAMETERS_H_
#define TOPDNN_NETWORKS_CANCELLED_PARAMETERS_H_

#include <set>
#include <utility>

#include "kernels/op.h"
#include "networks/graph.h"

namespace topdnn {

// The biases and shifts, by node and role, that in training leave the network's output as it is,
// whatever the data: the constant that they add to a channel goes every way, by additions and by
// convolutions without padding (which make another constant of it), into a batch normalization, and
// that subtracts the batch's mean (Ioffe and Szegedy 2015, section 3.2, of a bias before a
// normalization). MobileNetV2's linear bottlenecks have such shifts, and so has every convolution
// with a bias right before a batch normalization.
//
// The gradient of such a parameter is exactly zero; what a kernel sums up for it is the rounding of
// terms that cancel.
std::set<std::pair<int, Arg>> CancelledParameters(const Graph& graph);

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_CANCELLED_PARAMETERS_H_
