// A convolution in groups by a kernel that knows none: an ungrouped one a group, on that group's
// channels copied out of (N, H, W, C) and back, as TensorFlow's CPU kernel goes about it
// (conv_ops.cc, LaunchGrouped).

#ifndef TOPDNN_KERNELS_CONV_GROUP_BY_GROUP_H_
#define TOPDNN_KERNELS_CONV_GROUP_BY_GROUP_H_

#include <functional>
#include <memory>

#include "kernels/conv/conv.h"
#include "kernels/kernel.h"

namespace topdnn {

// `make` makes the kernel of one group: activations channels-last, weights in the layout "cdba"
// (RSCK). The request's activations must be channels-last or any. Weights (G, K/G, C/G, R, S) lie
// as "adecb", so that each group's are as its kernel reads them: where TensorFlow shuffles them at
// every call, they are kept that way. Returns the refusal of `make`, or of another layout.
KernelOrRefusal MakeGroupByGroup(const KernelRequest& request, const ConvOp& op,
                                 const std::function<KernelOrRefusal(const KernelRequest&)>& make);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_CONV_GROUP_BY_GROUP_H_
