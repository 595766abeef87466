#include "harness/counters/user_read.h"

namespace topdnn {

bool IsReadableByUser(const perf_event_mmap_page& page) {
#if defined(__x86_64__)
  // With cap_user_time_short the cycles have fewer than 64 bits; x86 never sets it.
  return page.cap_user_rdpmc != 0 && page.cap_user_time != 0 && page.cap_user_time_short == 0 &&
         page.pmc_width == 48 && page.time_shift < 64;
#else
  static_cast<void>(page);
  return false;
#endif
}

UserTimes UserTimesOf(std::uint64_t enabled, std::uint64_t running, std::uint64_t offset,
                      std::uint64_t cycles, const perf_event_mmap_page& page) {
  const std::uint64_t whole = (cycles >> page.time_shift) * page.time_mult;
  const std::uint64_t rest =
      ((cycles & ((std::uint64_t{1} << page.time_shift) - 1)) * page.time_mult) >> page.time_shift;
  const std::uint64_t since = offset + whole + rest;
  return {.enabled = enabled + since, .running = running + since};
}

}  // namespace topdnn
