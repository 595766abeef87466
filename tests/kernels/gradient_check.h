// Holds the reference's gradients to central finite differences in double. With the loss
// L = <dst, diff_dst> for a random diff_dst, dL/dx must be what the backward pass computes.

#ifndef TOPDNN_TESTS_KERNELS_GRADIENT_CHECK_H_
#define TOPDNN_TESTS_KERNELS_GRADIENT_CHECK_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "kernels/kernel.h"

namespace topdnn {

// The pass and the argument that hold the gradient in `input`.
std::pair<Pass, Arg> GradientOf(Arg input);

// The slope of `loss` in `element`, a central difference, whose rounding is about 1e-16 over the
// step of 1e-5. Leaves the element as it was.
double SlopeIn(double& element, const std::function<double()>& loss);

// Checks the gradient in `input` at up to 40 of its elements, spread evenly.
void CheckGradient(const std::shared_ptr<const Op>& op, Arg input, std::uint64_t seed);

}  // namespace topdnn

#endif  // TOPDNN_TESTS_KERNELS_GRADIENT_CHECK_H_
