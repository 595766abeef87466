// Interpolation as loops. They serve oneDNN, too, where its resampling computes something else.

#ifndef TOPDNN_KERNELS_INTERPOLATE_LOOPS_H_
#define TOPDNN_KERNELS_INTERPOLATE_LOOPS_H_

#include "kernels/kernel/kernel.h"

namespace topdnn {

KernelOrRefusal MakeInterpolateLoops(const KernelRequest& request);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_INTERPOLATE_LOOPS_H_
