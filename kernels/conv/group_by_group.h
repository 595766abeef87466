// Runs a grouped convolution on a kernel without groups, one group after the other. Each group's
// channels are copied out of (N, H, W, C) and back, as in TensorFlow's CPU kernel (conv_ops.cc,
// LaunchGrouped).

#ifndef TOPDNN_KERNELS_CONV_GROUP_BY_GROUP_H_
#define TOPDNN_KERNELS_CONV_GROUP_BY_GROUP_H_

#include <cstdint>
#include <functional>

#include "kernels/conv/conv.h"
#include "kernels/kernel/kernel.h"

namespace topdnn {

// dst (middle, outer, inner) = src (outer, middle, inner), by all threads of a backend.
using SwapOuter = std::function<void(std::int64_t outer, std::int64_t middle, std::int64_t inner,
                                     const float* src, float* dst)>;

// `make` makes the kernel of one group: activations channels-last, weights in the layout "cdba"
// (RSCK). The request's activations must be channels-last or `any`. Weights (G, K/G, C/G, R, S) are
// stored as "adecb", so that the kernel reads each group's weights in place; TensorFlow shuffles
// them in every call. Activations are swapped between (N*H*W, G, C/G) and (G, N*H*W, C/G) before
// and after the groups, as in TensorFlow (LaunchGrouped of conv_ops.cc); `make_swap` makes that
// function in Prepare. Returns the refusal of `make`, or a refusal for another layout.
KernelOrRefusal MakeGroupByGroup(const KernelRequest& request, const ConvOp& op,
                                 const std::function<KernelOrRefusal(const KernelRequest&)>& make,
                                 std::function<SwapOuter()> make_swap);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_CONV_GROUP_BY_GROUP_H_
