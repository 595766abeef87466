// Kernels that repeat pixels: InterpolateOp::RepeatedPixels.

#ifndef TOPDNN_KERNELS_INTERPOLATE_PIXELS_H_
#define TOPDNN_KERNELS_INTERPOLATE_PIXELS_H_

#include "kernels/eigen/kernel.h"

namespace topdnn {

KernelOrRefusal MakePixelLoops(const KernelRequest& request);
KernelOrRefusal MakePixelsOnEigen(const eigen::Functions& functions, KernelRequest& request);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_INTERPOLATE_PIXELS_H_
