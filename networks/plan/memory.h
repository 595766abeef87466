// Assigns each buffer of a plan a place in one block of memory. Buffers that are not in use at the
// same time share memory.

#ifndef TOPDNN_NETWORKS_PLAN_MEMORY_H_
#define TOPDNN_NETWORKS_PLAN_MEMORY_H_

#include <cstddef>
#include <vector>

namespace topdnn {

// A buffer's size, and the first and last stage that use it.
struct BufferLife {
  std::size_t bytes = 0;
  int first_stage = 0;
  int last_stage = 0;
};

struct MemoryMap {
  std::vector<std::size_t> offsets;  // per buffer, multiples of kBufferAlignment
  std::size_t bytes = 0;             // size of the whole block
};

// The size of a cache line and of the widest vector.
inline constexpr std::size_t kBufferAlignment = 64;

// Places the buffers, largest first, each at the lowest offset that is free during its whole life
// (greedy by size, Pisarchyk and Lee 2020, "Efficient Memory Management for Deep Neural Net
// Inference").
MemoryMap PlaceBuffers(const std::vector<BufferLife>& buffers);

// For each of `stages` stages, the bytes of the buffers whose life includes it.
std::vector<std::size_t> LiveBytes(const std::vector<BufferLife>& buffers, std::size_t stages);

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_PLAN_MEMORY_H_
