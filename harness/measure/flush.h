// Evicts memory from every cache level, for measurements that start cold.

#ifndef TOPDNN_HARNESS_MEASURE_FLUSH_H_
#define TOPDNN_HARNESS_MEASURE_FLUSH_H_

#include <cstddef>
#include <span>

namespace topdnn {

// Writes back and evicts every cache line of the bytes from all caches of the coherence domain:
// CLFLUSHOPT, otherwise CLFLUSH (Intel SDM volume 2A), or DC CIVAC on arm64 (Arm ARM, C5.3), then
// waits for completion. Returns false, without flushing, on other architectures.
bool FlushFromCaches(std::span<const std::byte> bytes) noexcept;

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_MEASURE_FLUSH_H_
