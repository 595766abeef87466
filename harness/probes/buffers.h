// The memory that a probe works on: one object per thread, allocated and filled before timing.

#ifndef TOPDNN_HARNESS_PROBES_BUFFERS_H_
#define TOPDNN_HARNESS_PROBES_BUFFERS_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <utility>

namespace topdnn {

// Bytes whose contents are undefined, aligned to 4 KiB, so that no vector crosses a cache line or
// page. Blocks of 2 MiB and more are on huge pages where the system gives them, as tensors of that
// size are (kernels/tensor/tensor.cc): a ceiling is what a stage could reach. On small pages DRAM's
// rate also depends on how long the memory was idle, where a kernel samples which pages are in use
// (DAMON): 46 GB/s after 10 ms and 20 after 0.4 s, instead of 65 and 64 (medians of 60 and 20
// windows, 2 CPUs).
struct PageDeleter {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using PageMemory = std::unique_ptr<std::byte[], PageDeleter>;
PageMemory AllocatePages(std::size_t bytes);

// Memory that teams of probes use one after the other, so that the kernel zeroes its pages once and
// not for each team. A thread gets the pages that the same thread of an earlier team touched first,
// which are on its NUMA node. Contents undefined.
class KeptPages {
 public:
  // Allocates if there is no block of this size that the thread used before.
  PageMemory Take(std::size_t thread, std::size_t bytes);
  void Keep(std::size_t thread, std::size_t bytes, PageMemory memory);

 private:
  std::map<std::pair<std::size_t, std::size_t>, PageMemory> blocks_;  // by thread and bytes
};

// Steps of the panels that the inner loop of a GEMM processes before it starts again.
inline constexpr int kPanelSteps = 64;

struct ProbeBuffers {
  // Allocates `bytes` for `memory`: a power of two, at least 8 KiB. Fills nothing.
  explicit ProbeBuffers(std::size_t bytes);
  // The same, with `bytes` that exist already.
  ProbeBuffers(std::size_t bytes, PageMemory existing);

  std::size_t working_set;
  // kPanelSteps steps of at most 128 bytes of rows and 128 bytes of columns; both fit L1 together.
  // AMX uses each panel as 8 KiB of tiles.
  static constexpr std::size_t kPanelBytes = kPanelSteps * 128;
  PageMemory rows;
  PageMemory columns;
  // The probe's result: its accumulators, one vector after the other, in the probe's layout.
  static constexpr std::size_t kResultBytes = 4096;
  PageMemory results;
  // The working set of load, store, chase and branch probes.
  PageMemory memory;
  // Where a streaming probe continues in `memory`. It is kept between calls, so that short calls
  // cover all of it, and not only a beginning that a cache would hold.
  std::uint64_t position = 0;
};

// Contents of the operands: integers in [-2, 2], whose sums stay exact in every type (to check a
// probe), or reals in [-1, 1] (to use as much power as real data).
enum class Fill { kReals, kWholeNumbers };

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_PROBES_BUFFERS_H_
