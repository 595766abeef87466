// A ReLU that a convolution or an inner product applies last, with or without a bound (ReLU6).

#ifndef TOPDNN_KERNELS_ACTIVATION_FUSED_RELU_H_
#define TOPDNN_KERNELS_ACTIVATION_FUSED_RELU_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/op/op.h"

namespace topdnn {

// Throws std::invalid_argument, in one line, for a bound that is negative, NaN or without a ReLU.
// 0 means no bound. `kind` is the operation's.
void CheckFusedRelu(std::string_view kind, bool relu, float bound);

// The end of a problem's word: "", "_relu" or "_relu_bound6".
std::string SpellFusedRelu(bool relu, float bound);

double RootMeanSquare(const std::vector<double>& values);

// Op::MagnitudeOfDst of an operation whose dst is sums of products of src and weights. Forward with
// a bounded ReLU: the root mean square of the sums, estimated for terms of random sign; they may be
// far above the bound, and so above every entry of dst. Otherwise 0.
double MagnitudeBeforeBound(const Op& op, const Execution& execution,
                            const std::function<std::vector<double>(Arg)>& values);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_ACTIVATION_FUSED_RELU_H_
