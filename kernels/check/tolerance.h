// How far a kernel's result may differ from the reference's. All checks use this rule.

#ifndef TOPDNN_KERNELS_CHECK_TOLERANCE_H_
#define TOPDNN_KERNELS_CHECK_TOLERANCE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "kernels/op/op.h"

namespace topdnn {

// Largest allowed error of a sum, relative to the largest entry of the reference's result. Sums are
// assumed to accumulate in f32 or wider, except in oneDNN's pooling. Their rounding errors behave
// as a random walk, so they grow with the square root of the accumulation length (Higham and Mary
// 2019, "A new approach to probabilistic rounding error analysis"); a factor of 4 covers
// cancellation. f64 kernels use the precision of f64. Sums of whole numbers (int8) are exact, and
// so are operations that copy or choose elements (Op::AccumulationLength is 0). The transforms of a
// Winograd algorithm lose one more digit (Lavin and Gray 2016, "Fast Algorithms for Convolutional
// Neural Networks", section 5.2): a factor of 16.
double Tolerance(const Op& op, const Execution& execution, std::string_view algorithm = {});

// The error of each element of a result of type `result` by itself, relative to that element, in
// addition to the error of its sum: two roundings of the type if it is narrower than f32, otherwise
// 0. (A gradient of parameters is f32 in bf16, too.)
double RoundingOfResults(const Op& op, Pass pass, DataType result);

// Largest |a - b| divided by the largest |b|; b is the reference. Infinite when b is all zero and a
// is not. When an element of one is NaN or infinite, the other must be the same, or the error is
// infinite. `scale` replaces the largest |b| when it is larger: it is the magnitude of sums whose
// terms may cancel. `rounding` * |b| is first subtracted from each |a - b| (RoundingOfResults).
double RelativeError(std::span<const double> a, std::span<const double> b, double scale = 0.0,
                     double rounding = 0.0);

// The first element whose error is over the tolerance, with both values: "(0,1,2,3) is 2 instead of
// 1.5", or empty. Of tensors of this shape, row-major; `elements` are the positions of the values
// in them, or empty for all.
std::string FirstWrongElement(std::span<const double> a, std::span<const double> b,
                              double tolerance, double scale, double rounding, const Shape& shape,
                              std::span<const std::int64_t> elements = {});

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_CHECK_TOLERANCE_H_
