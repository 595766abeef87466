// The bounds on the extents of any tensor that an operation computes on.

#ifndef TOPDNN_KERNELS_EXTENTS_H_
#define TOPDNN_KERNELS_EXTENTS_H_

#include <cstdint>
#include <string_view>

#include "kernels/tensor.h"

namespace topdnn {

// 1 PiB of f32. Up to here bytes and FLOPs, some hundreds an element, count in 64 bits.
inline constexpr std::int64_t kMostElements = std::int64_t{1} << 48;

// Throws std::invalid_argument, in one line that names the operation, unless every extent is 1 or
// more and the elements are at most kMostElements.
void CheckExtents(std::string_view operation, const Shape& shape);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_EXTENTS_H_
