// Evicts memory from every cache level, for measurements that start cold.

#ifndef TOPDNN_HARNESS_FLUSH_H_
#define TOPDNN_HARNESS_FLUSH_H_

#include <cstddef>
#include <span>

namespace topdnn {

// Writes back and evicts every cache line of the bytes from all caches of the coherence domain:
// CLFLUSHOPT, otherwise CLFLUSH (Intel SDM volume 2A), then waits for completion. Returns false,
// without flushing, if the architecture does not support it in user mode.
bool FlushFromCaches(std::span<const std::byte> bytes) noexcept;

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_FLUSH_H_
