// The gradient of the weights of a convolution by Winograd's F(3x3, 4x4) or F(5x5, 2x2):
// backward_weights of the variant native-winograd.

#ifndef TOPDNN_KERNELS_CONV_WINOGRAD_GRADIENT_H_
#define TOPDNN_KERNELS_CONV_WINOGRAD_GRADIENT_H_

#include <memory>

#include "kernels/conv/winograd_kernel.h"

namespace topdnn {

std::unique_ptr<Kernel> MakeWinogradGradient(const KernelRequest& request,
                                             const WinogradLayouts& layouts);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_CONV_WINOGRAD_GRADIENT_H_
