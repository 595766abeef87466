#include "harness/probes/buffers.h"

#include <sys/mman.h>

#include <utility>

namespace topdnn {

PageMemory AllocatePages(std::size_t bytes) {
  return PageMemory(new (std::align_val_t{4096}) std::byte[bytes]);
}

PageMemory AllocateHugePages(std::size_t bytes) {
  PageMemory memory = AllocatePages(bytes);
  madvise(memory.get(), bytes, MADV_HUGEPAGE);  // if it fails, the pages are small
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
