// Takes memory out of every cache level, for measurements that start cold.

#ifndef TOPDNN_HARNESS_FLUSH_H_
#define TOPDNN_HARNESS_FLUSH_H_

#include <cstddef>
#include <span>

namespace topdnn {

// Writes back and evicts every cache line of the bytes from all caches of the coherence domain:
// CLFLUSHOPT, else CLFLUSH (Intel SDM volume 2A), then waits for it. Returns false where the
// architecture's user mode cannot do it; then nothing was flushed.
bool FlushFromCaches(std::span<const std::byte> bytes) noexcept;

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_FLUSH_H_
