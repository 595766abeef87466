// The memory that a probe works on. One per thread: allocated and filled before any clock starts.

#ifndef TOPDNN_HARNESS_PROBES_BUFFERS_H_
#define TOPDNN_HARNESS_PROBES_BUFFERS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace topdnn {

// Uninitialised bytes on a 4 KiB boundary (no vector of the probes crosses a cache line or page).
struct PageDeleter {
  void operator()(std::byte* memory) const { ::operator delete[](memory, std::align_val_t{4096}); }
};
using PageMemory = std::unique_ptr<std::byte[], PageDeleter>;
PageMemory AllocatePages(std::size_t bytes);

// The steps of a panel that a GEMM micro-kernel walks before it starts over (the depth of a block).
inline constexpr int kPanelSteps = 64;

struct ProbeBuffers {
  // `bytes` of `memory`, a power of two of at least 8 KiB. Nothing is filled.
  explicit ProbeBuffers(std::size_t bytes);

  std::size_t working_set;
  // kPanelSteps steps of at most 128 (rows) and 128 (columns) bytes, in L1 together; AMX tiles
  // use both as 8 KiB of tiles.
  static constexpr std::size_t kPanelBytes = kPanelSteps * 128;
  PageMemory rows;
  PageMemory columns;
  // What the probe computed, in its own layout: the accumulators, one vector after the other.
  static constexpr std::size_t kResultBytes = 4096;
  PageMemory results;
  // The working set of load, store, chase and branch probes.
  PageMemory memory;
  // Where a streaming probe goes on in `memory`: kept between calls, so that short calls walk
  // through all of it instead of staying in its beginning, which a cache would hold.
  std::uint64_t position = 0;
};

// Whole numbers in [-2, 2], whose sums stay exact in every type for a while (to check a probe), or
// reals in [-1, 1] (to heat the machine as real data does).
enum class Fill { kReals, kWholeNumbers };

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_PROBES_BUFFERS_H_
