// The memory traffic of a kernel.

#ifndef TOPDNN_KERNELS_TRAFFIC_H_
#define TOPDNN_KERNELS_TRAFFIC_H_

#include <cstdint>

#include "kernels/kernel.h"

namespace topdnn {

// The compulsory traffic of one run in bytes: every operand that this kernel has, once, unpadded,
// in the type that it has there; one that is read and written twice. An operation's own count
// (Work::bytes) cannot know what a backend leaves for its backward pass: oneDNN keeps the maxima of
// a pooling as u8 where others keep s32, and nothing where a pass saves nothing.
std::int64_t CompulsoryBytes(const Kernel& kernel);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_TRAFFIC_H_
