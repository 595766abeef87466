// Reduction as loops over row-major tensors, for backends that lack a pass of it.

#ifndef TOPDNN_KERNELS_REDUCE_LOOPS_H_
#define TOPDNN_KERNELS_REDUCE_LOOPS_H_

#include "kernels/kernel.h"

namespace topdnn {

// Forward in f32, backward in f32 and bf16.
KernelOrRefusal MakeReduceLoops(const KernelRequest& request);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_REDUCE_LOOPS_H_
