// Pooling as loops. They serve oneDNN, too, for averages that it computes in another way.

#ifndef TOPDNN_KERNELS_POOL_LOOPS_H_
#define TOPDNN_KERNELS_POOL_LOOPS_H_

#include "kernels/kernel/kernel.h"

namespace topdnn {

KernelOrRefusal MakePoolLoops(const KernelRequest& request);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_POOL_LOOPS_H_
