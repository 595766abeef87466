// Reduction as loops over row-major tensors, for backends that do not support a pass of it.

#ifndef TOPDNN_KERNELS_REDUCE_LOOPS_H_
#define TOPDNN_KERNELS_REDUCE_LOOPS_H_

#include "kernels/kernel.h"

namespace topdnn {

// Forward supports f32, backward f32 and bf16.
KernelOrRefusal MakeReduceLoops(const KernelRequest& request);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_REDUCE_LOOPS_H_
