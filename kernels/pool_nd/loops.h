// Pooling over one to three spatial dimensions as loops. They serve oneDNN, too, for norms, windows
// with gaps, and averages that it computes in another way.

#ifndef TOPDNN_KERNELS_POOL_ND_LOOPS_H_
#define TOPDNN_KERNELS_POOL_ND_LOOPS_H_

#include "kernels/kernel/kernel.h"

namespace topdnn {

KernelOrRefusal MakePoolNdLoops(const KernelRequest& request);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_POOL_ND_LOOPS_H_
