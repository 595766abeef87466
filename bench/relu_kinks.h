// Activations so close to a kink of their ReLU that rounding decides what passes there.

#ifndef TOPDNN_BENCH_RELU_KINKS_H_
#define TOPDNN_BENCH_RELU_KINKS_H_

#include <cstdint>
#include <span>

#include "networks/plan.h"

namespace topdnn {

// How far rounding moves an activation, at most: this share of the largest one of its tensor.
inline constexpr double kKinkShare = 4e-6;

// Values that lie above 0, or below `bound` where it is above 0, by no more than rounding moves
// them. Those on the other side of a kink cannot be seen in a ReLU's result; they are as many.
std::int64_t CountAtKinks(std::span<const double> values, double bound);

// The same of what the stage has just written: 0 for one that ends in no ReLU.
std::int64_t CountAtKinks(const Plan& plan, const Stage& stage);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_RELU_KINKS_H_
