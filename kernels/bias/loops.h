// Bias as vectorised loops, in f32 or bf16, in any layout that keeps the channels of a block
// together. They serve OpenBLAS, which has no bias, and oneDNN 2.6 where it has only plain
// reference code (the sum over all dimensions except the channels).

#ifndef TOPDNN_KERNELS_BIAS_LOOPS_H_
#define TOPDNN_KERNELS_BIAS_LOOPS_H_

#include <cstdint>
#include <optional>

#include "kernels/bias/bias.h"
#include "kernels/kernel.h"

namespace topdnn {

// A tensor (N, C, pixels) in memory as [images][blocks][pixels][width]. Channel c is element c %
// width of block c / width. Row-major: width 1; channels last: one block of C; nChw16c: width 16.
struct ChannelBlocks {
  std::int64_t images, blocks, pixels, width;
};

// Nothing for a layout of another form.
std::optional<ChannelBlocks> ChannelBlocksOf(const Shape& shape, const Layout& layout);

KernelOrRefusal MakeBiasLoops(const KernelRequest& request);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_BIAS_LOOPS_H_
