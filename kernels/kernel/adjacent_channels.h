// Which channels of images are next to each other in memory, for loops over vectors of channels.

#ifndef TOPDNN_KERNELS_KERNEL_ADJACENT_CHANNELS_H_
#define TOPDNN_KERNELS_KERNEL_ADJACENT_CHANNELS_H_

#include <cstdint>

#include "kernels/kernel/kernel.h"

namespace topdnn {

// All channels of `shape` (N, C, ...) channels last, those of a block in oneDNN's layouts of images
// in blocks of 8 or 16; 0: another layout.
inline std::int64_t AdjacentChannels(const Layout& layout, const Shape& shape) {
  if (layout == Layout::ChannelsLast(shape.rank())) return shape[1];
  if (shape.rank() != 4) return 0;
  if (layout.tag() == "aBcd16b") return 16;
  return layout.tag() == "aBcd8b" ? 8 : 0;
}

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_KERNEL_ADJACENT_CHANNELS_H_
