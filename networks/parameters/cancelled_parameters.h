// Finds parameters whose effect on the output is cancelled by the network.

#ifndef TOPDNN_NETWORKS_PARAMETERS_CANCELLED_PARAMETERS_H_
#define TOPDNN_NETWORKS_PARAMETERS_CANCELLED_PARAMETERS_H_

#include <set>
#include <utility>

#include "kernels/op/op.h"
#include "networks/graph/graph.h"

namespace topdnn {

// The biases and shifts, by node and role, that cannot change the network's output in training, for
// any data. Such a parameter adds a constant to each channel. On every path, through additions and
// convolutions without padding (which turn it into another constant), it reaches a batch
// normalization, which subtracts the batch's mean (Ioffe and Szegedy 2015, section 3.2, for a bias
// before a normalization). Examples: shifts in MobileNetV2's linear bottlenecks, and the bias of
// any convolution directly before a batch normalization.
//
// The gradient of such a parameter is exactly zero. The kernel computes rounding errors instead,
// from a sum of terms that cancel.
std::set<std::pair<int, Arg>> CancelledParameters(const Graph& graph);

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_PARAMETERS_CANCELLED_PARAMETERS_H_
