#include "harness/counters/user_read.h"

namespace topdnn {

bool IsReadableByUser(const perf_event_mmap_page& page) {
#if defined(__x86_64__)
  // (with cap_user_time_short the cycles are narrower than 64 bits: no x86 says so)
  return page.cap_user_rdpmc != 0 && page.cap_user_time != 0 && page.cap_user_time_short == 0 &&
         page.pmc_width > 0 && page.pmc_width <= 64 && page.time_shift < 64;
#else
  static_cast<void>(page);
  return false;
#endif
}

}  // namespace topdnn
