// A ReLU that a convolution or an inner product applies last, with or without a bound (ReLU6).

#ifndef TOPDNN_KERNELS_ACTIVATION_FUSED_RELU_H_
#define TOPDNN_KERNELS_ACTIVATION_FUSED_RELU_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/op.h"

namespace topdnn {

// Throws std::invalid_argument, in one line, for a bound that is negative, NaN or without a ReLU.
// 0 means no bound. `kind` is the operation's.
void CheckFusedRelu(std::string_view kind, bool relu, float bound);

// The end of a problem's word: "", "_relu" or "_relu_bound6".
std::string SpellFusedRelu(bool relu, float bound);

// The root mean square of sums of `terms` products of src and weights, estimated for terms of
// random sign. Before a bound, the sums may be far above it, and so above every entry of dst.
double MagnitudeOfSums(std::int64_t terms, const std::function<std::vector<double>(Arg)>& values);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_ACTIVATION_FUSED_RELU_H_
