// The forward pass of a max pooling in f32 as loops over vectors of channels, for the layouts of
// oneDNN: channels last, or in blocks. oneDNN's gradient reads the workspace. oneDNN's own forward
// kernel, which finds the winners, takes about three times as long (docs/kernels.md).

#ifndef TOPDNN_KERNELS_POOL_MAX_LOOPS_H_
#define TOPDNN_KERNELS_POOL_MAX_LOOPS_H_

#include "kernels/kernel.h"

namespace topdnn {

// Refuses other passes, types, algorithms and layouts, fewer than four channels next to each other,
// and windows of more than 255 elements, whose winners do not fit in a byte.
KernelOrRefusal MakeMaxLoops(const KernelRequest& request);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_POOL_MAX_LOOPS_H_
