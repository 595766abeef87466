// Limits on the extents of the tensors that operations compute on.

#ifndef TOPDNN_KERNELS_TENSOR_EXTENTS_H_
#define TOPDNN_KERNELS_TENSOR_EXTENTS_H_

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string_view>

#include "kernels/tensor/tensor.h"

namespace topdnn {

// 1 PiB of f32. Up to this size, byte and FLOP counts (some hundreds per element) fit 64 bits.
inline constexpr std::int64_t kMaxElements = std::int64_t{1} << 48;
// The largest window, stride, dilation and padding. The products of two of them, and the sums in a
// window's formulas, fit 64 bits.
inline constexpr std::int64_t kMaxWindow = std::numeric_limits<std::int32_t>::max();

// Throws std::invalid_argument, in one line that names the operation, when an extent is below 1 or
// the tensor has more than kMaxElements elements.
void CheckExtents(std::string_view operation, const Shape& shape);
// Throws std::invalid_argument, in one line that names the operation, when the product of
// `factors`, the number of an operation's steps, is above 2^60. Up to 7 FLOPs per step then fit 64
// bits.
void CheckWork(std::string_view operation, std::initializer_list<std::int64_t> factors);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_TENSOR_EXTENTS_H_
