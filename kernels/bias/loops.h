// Bias as vectorised loops, in f32 or bf16, in any layout that keeps the channels of a block
// together.

#ifndef TOPDNN_KERNELS_BIAS_LOOPS_H_
#define TOPDNN_KERNELS_BIAS_LOOPS_H_

#include <cstdint>
#include <optional>

#include "kernels/bias/bias.h"
#include "kernels/kernel/kernel.h"

namespace topdnn {

// A tensor (N, C, pixels) in memory as [images][blocks][pixels][width]. Channel c is element c %
// width of block c / width. Row-major: width 1; channels last: one block of C; nChw16c: width 16.
struct ChannelBlocks {
  std::int64_t images, blocks, pixels, width;
};

// `shape` is (N, C, ...). Nothing for a layout of another form, or for a width other than 4, 8, 16
// and 32 in blocked channels.
std::optional<ChannelBlocks> ChannelBlocksOf(const Shape& shape, const Layout& layout);

// Computes in the layout that the request settles for the tensor, or row-major. Refuses other
// types, other layouts, and two different layouts of src and dst.
KernelOrRefusal MakeBiasLoops(const KernelRequest& request);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_BIAS_LOOPS_H_
