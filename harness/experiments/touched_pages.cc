#include "harness/experiments/remapped_memory.h"

namespace topdnn {

std::size_t TouchedPages::PagesWith(bool kept) const {
  std::size_t pages = 0;
  for (const Run& run : runs) pages += (run.use == kKept) == kept ? run.count : 0;
  return pages;
}

}  // namespace topdnn
