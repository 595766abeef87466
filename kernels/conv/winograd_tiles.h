// Convolution by Winograd's algorithm, tile by tile: the variant native-winograd.

#ifndef TOPDNN_KERNELS_CONV_WINOGRAD_TILES_H_
#define TOPDNN_KERNELS_CONV_WINOGRAD_TILES_H_

#include "kernels/kernel/kernel.h"

namespace topdnn {

// The algorithm of the variant native-winograd.
inline constexpr const char* kWinogradTiles = "winograd-tiles";

// All passes of convolutions of 3x3 and 5x5 with strides of 1, in f32, on images whose channels are
// next to each other: all of them, or a block that is a vector. F(4x4, 3x3) multiplies 36 times
// where the definition does 144 times, and F(2x2, 5x5) where it does 100 times. Both lose about one
// digit (kernels/check/tolerance.h). A NaN or an infinity in the source makes all results of its
// tiles NaN.
//
// oneDNN 2.6 transforms all tiles of a tensor, then multiplies, then transforms the sums. Here a
// thread does all three for a few tiles, so that the points stay in its L2 cache.
KernelOrRefusal MakeWinogradTiles(const KernelRequest& request);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_CONV_WINOGRAD_TILES_H_
