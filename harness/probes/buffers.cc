#include "harness/probes/buffers.h"

namespace topdnn {

PageMemory AllocatePages(std::size_t bytes) {
  return PageMemory(new (std::align_val_t{4096}) std::byte[bytes]);
}

ProbeBuffers::ProbeBuffers(std::size_t bytes)
    : working_set(bytes),
      rows(AllocatePages(kPanelBytes)),
      columns(AllocatePages(kPanelBytes)),
      results(AllocatePages(kResultBytes)),
      memory(AllocatePages(bytes)) {}

}  // namespace topdnn
