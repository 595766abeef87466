// Runs a grouped convolution on a kernel without groups, one group after the other. Each group's
// channels are copied out of (N, H, W, C) and back, as in TensorFlow's CPU kernel (conv_ops.cc,
// LaunchGrouped).

#ifndef TOPDNN_KERNELS_CONV_GROUP_BY_GROUP_H_
#define TOPDNN_KERNELS_CONV_GROUP_BY_GROUP_H_

#include <functional>
#include <memory>

#include "kernels/conv/conv.h"
#include "kernels/kernel.h"

namespace topdnn {

// `make` makes the kernel of one group: activations channels-last, weights in the layout "cdba"
// (RSCK). The request's activations must be channels-last or `any`. Weights (G, K/G, C/G, R, S) are
// stored as "adecb", so that the kernel reads each group's weights in place; TensorFlow shuffles
// them in every call. Returns the refusal of `make`, or a refusal for another layout.
KernelOrRefusal MakeGroupByGroup(const KernelRequest& request, const ConvOp& op,
                                 const std::function<KernelOrRefusal(const KernelRequest&)>& make);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_CONV_GROUP_BY_GROUP_H_
