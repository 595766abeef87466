// Counts activations so close to a kink of their ReLU that rounding decides whether the gradient
// passes.

#ifndef TOPDNN_BENCH_VALIDATION_RELU_KINKS_H_
#define TOPDNN_BENCH_VALIDATION_RELU_KINKS_H_

#include <cstdint>
#include <span>

#include "networks/plan/plan.h"

namespace topdnn {

// Rounding moves an activation by at most this share of the largest one of its tensor.
inline constexpr double kKinkShare = 4e-6;

// Counts the values that exceed 0, or are below a positive `bound`, by no more than rounding can
// move them. A ReLU's result does not show the values on the other side of a kink; about as many
// lie there.
std::int64_t CountAtKinks(std::span<const double> values, double bound);

// The same for the stage's latest result; 0 for a stage without a final ReLU.
std::int64_t CountAtKinks(const Plan& plan, const Stage& stage);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_VALIDATION_RELU_KINKS_H_
