// Where each buffer of a plan lies in one block of memory: buffers whose lives do not overlap share
// it.

#ifndef TOPDNN_NETWORKS_MEMORY_H_
#define TOPDNN_NETWORKS_MEMORY_H_

#include <cstddef>
#include <vector>

namespace topdnn {

// A buffer's size and the stages it lives through, both ends included.
struct BufferLife {
  std::size_t bytes = 0;
  int first_stage = 0;
  int last_stage = 0;
};

struct MemoryMap {
  std::vector<std::size_t> offsets;  // per buffer, multiples of kBufferAlignment
  std::size_t bytes = 0;             // of the whole block
};

// A cache line, and the widest vector.
inline constexpr std::size_t kBufferAlignment = 64;

// Places the buffers, largest first, each at the lowest offset that is free for its whole life
// (greedy by size, Pisarchyk and Lee 2020, "Efficient Memory Management for Deep Neural Net
// Inference").
MemoryMap PlaceBuffers(const std::vector<BufferLife>& buffers);

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_MEMORY_H_
