// Max pooling in f32 as loops over vectors of channels, for the layouts of oneDNN: channels last,
// or in blocks. The workspace is oneDNN's, so either kernel reads what the other one wrote.
// oneDNN's kernels take two to four times as long (docs/own-kernels.md).

#ifndef TOPDNN_KERNELS_POOL_MAX_LOOPS_H_
#define TOPDNN_KERNELS_POOL_MAX_LOOPS_H_

#include "kernels/kernel/kernel.h"

namespace topdnn {

// Refuses other types, algorithms and layouts, fewer than four channels next to each other, windows
// of more than 255 elements, whose winners do not fit in a byte, and gradients of windows other
// than 2x2 with strides of 2 and 3x3 with strides of 1 or 2.
KernelOrRefusal MakeMaxLoops(const KernelRequest& request);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_POOL_MAX_LOOPS_H_
