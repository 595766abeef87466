// The memory traffic of a kernel.

#ifndef TOPDNN_KERNELS_KERNEL_TRAFFIC_H_
#define TOPDNN_KERNELS_KERNEL_TRAFFIC_H_

#include <cstdint>

#include "kernels/kernel/kernel.h"

namespace topdnn {

// The compulsory traffic of one run in bytes: every operand of this kernel once, without padding
// and elements that are not needed (Operand::unread), in the kernel's type. An operand that is read
// and written counts twice. The operation's count (Work::bytes) does not include differences
// between backends: oneDNN saves the maxima of a pooling as u8, other backends as s32, and a pass
// that saves nothing has no workspace.
std::int64_t CompulsoryBytes(const Kernel& kernel);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_KERNEL_TRAFFIC_H_
