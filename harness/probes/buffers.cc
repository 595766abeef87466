#include "harness/probes/buffers.h"

#include <sys/mman.h>

#include <new>
#include <utility>

namespace topdnn {

PageMemory AllocatePages(std::size_t bytes) {
  constexpr std::size_t kHugePage = std::size_t{2} << 20;
  const bool huge = bytes >= kHugePage;
  const std::size_t alignment = huge ? kHugePage : 4096;
  const std::size_t padded = (bytes + alignment - 1) & -alignment;
  PageMemory memory(static_cast<std::byte*>(std::aligned_alloc(alignment, padded)));
  if (memory == nullptr) throw std::bad_alloc();
  if (huge) madvise(memory.get(), padded, MADV_HUGEPAGE);  // if it fails, the pages are small
  return memory;
}

PageMemory KeptPages::Take(std::size_t thread, std::size_t bytes) {
  const auto kept = blocks_.extract({thread, bytes});
  return kept ? std::move(kept.mapped()) : AllocatePages(bytes);
}

void KeptPages::Keep(std::size_t thread, std::size_t bytes, PageMemory memory) {
  blocks_.insert_or_assign({thread, bytes}, std::move(memory));
}

ProbeBuffers::ProbeBuffers(std::size_t bytes) : ProbeBuffers(bytes, AllocatePages(bytes)) {}

ProbeBuffers::ProbeBuffers(std::size_t bytes, PageMemory existing)
    : working_set(bytes),
      rows(AllocatePages(kPanelBytes)),
      columns(AllocatePages(kPanelBytes)),
      results(AllocatePages(kResultBytes)),
      memory(std::move(existing)) {}

}  // namespace topdnn
