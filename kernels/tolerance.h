// How far a kernel's result may lie from the reference's: one rule for every check.

#ifndef TOPDNN_KERNELS_TOLERANCE_H_
#define TOPDNN_KERNELS_TOLERANCE_H_

#include <span>
#include <string_view>

#include "kernels/op.h"

namespace topdnn {

// Largest error allowed, relative to the largest entry of the reference's result. The sums are
// taken to accumulate in f32 or wider: their rounding errors behave as a random walk, so they grow
// with the square root of the accumulation length (Higham and Mary 2019, "A new approach to
// probabilistic rounding error analysis"); a factor of 4 covers cancellation. Operands and results
// of a narrower type add the rounding of that type once each. f64 kernels are held to f64, and sums
// of whole numbers (int8) are exact.
// The transforms of a Winograd algorithm lose a digit more (Lavin and Gray 2016, "Fast Algorithms
// for Convolutional Neural Networks", section 5.2): a factor of 16.
double Tolerance(const Op& op, const Execution& execution, std::string_view algorithm = {});

// Largest |a - b| over the largest |b|, the reference; infinite where b is all zero and a is not.
// Where one is NaN or infinite the other must be the same, or the error is infinite. `scale`, where
// it is larger than all |b|, takes their place: what sums amount to whose terms happen to cancel.
double RelativeError(std::span<const double> a, std::span<const double> b, double scale = 0.0);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_TOLERANCE_H_
