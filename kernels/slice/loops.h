// The loops of a slice on OpenMP's threads, for backends that lack some slices.

#ifndef TOPDNN_KERNELS_SLICE_LOOPS_H_
#define TOPDNN_KERNELS_SLICE_LOOPS_H_

#include "kernels/kernel/kernel.h"

namespace topdnn {

KernelOrRefusal MakeSliceLoops(const KernelRequest& request);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_SLICE_LOOPS_H_
