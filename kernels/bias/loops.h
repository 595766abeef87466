// Bias as vectorised loops in any layout that keeps the channels of a block together, f32 or bf16:
// for OpenBLAS, which has none, and for what oneDNN 2.6 leaves to its plain reference code (the sum
// over all but the channels).

#ifndef TOPDNN_KERNELS_BIAS_LOOPS_H_
#define TOPDNN_KERNELS_BIAS_LOOPS_H_

#include <cstdint>
#include <optional>

#include "kernels/bias/bias.h"
#include "kernels/kernel.h"

namespace topdnn {

// A tensor (N, C, pixels) in memory as [images][blocks][pixels][width], channel c being element
// c % width of block c / width. Row-major: width 1; channels last: one block of C; nChw16c: 16.
struct ChannelBlocks {
  std::int64_t images, blocks, pixels, width;
};

// Nothing for a layout that is not of this form.
std::optional<ChannelBlocks> ChannelBlocksOf(const Shape& shape, const Layout& layout);

KernelOrRefusal MakeBiasLoops(const KernelRequest& request);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_BIAS_LOOPS_H_
