// Whether one kernel can take the place of another in a plan.

#ifndef TOPDNN_KERNELS_KERNEL_SAME_OPERANDS_H_
#define TOPDNN_KERNELS_KERNEL_SAME_OPERANDS_H_

#include "kernels/kernel/kernel.h"

namespace topdnn {

// Whether the kernels read and write exactly the same memory.
bool SameOperands(const Kernel& a, const Kernel& b);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_KERNEL_SAME_OPERANDS_H_
