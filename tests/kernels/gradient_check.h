// Checks the reference's gradients against central finite differences in double. With the loss L =
// <dst, diff_dst> for a random diff_dst, dL/dx must equal the result of the backward pass.

#ifndef TOPDNN_TESTS_KERNELS_GRADIENT_CHECK_H_
#define TOPDNN_TESTS_KERNELS_GRADIENT_CHECK_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "kernels/kernel/kernel.h"

namespace topdnn {

// The pass and the operand that hold the gradient of `input`.
std::pair<Pass, Arg> GradientOf(Arg input);

// The slope of `loss` in `element`: a central difference with a step of 1e-5. Its rounding error is
// about 1e-16 divided by the step. Restores the element.
double SlopeIn(double& element, const std::function<double()>& loss);

// Checks the gradient of `input` at up to 40 evenly spaced elements.
void CheckGradient(const std::shared_ptr<const Op>& op, Arg input, std::uint64_t seed);

}  // namespace topdnn

#endif  // TOPDNN_TESTS_KERNELS_GRADIENT_CHECK_H_
