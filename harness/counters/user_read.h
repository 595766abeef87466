// Reads a counter without a system call. The kernel keeps a page for each event, under a sequence
// lock, with the number of its hardware counter and its earlier counts; the counter itself is read
// by RDPMC (linux/perf_event.h, struct perf_event_mmap_page; Intel SDM volume 2, RDPMC). A reading
// is valid only on the event's own thread.
//
// The reading depends only on the page and on two instructions, which tests replace.

#ifndef TOPDNN_HARNESS_COUNTERS_USER_READ_H_
#define TOPDNN_HARNESS_COUNTERS_USER_READ_H_

#include <linux/perf_event.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "harness/statistics/counting.h"

namespace topdnn {

struct UserTimes {
  std::uint64_t enabled = 0;  // ns
  std::uint64_t running = 0;  // ns
};

// The instructions of this machine.
struct HardwareReads {
#if defined(__x86_64__)
  static std::uint64_t Counter(std::uint32_t index) noexcept {
    std::uint64_t low, high;  // RDPMC clears the upper halves
    asm volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(index));
    return SignedCounter(low, high);
  }
  static std::uint64_t Cycles() noexcept { return __rdtsc(); }
#else
  static std::uint64_t Counter(std::uint32_t) noexcept { return 0; }
  static std::uint64_t Cycles() noexcept { return 0; }
#endif
};

// Whether a page can be read: the kernel allows RDPMC, the counter has the 48 bits of all x86 cores
// with such pages, and the page has the scale of the time stamp counter, which the time since the
// last switch needs.
bool IsReadableByUser(const perf_event_mmap_page& page);

namespace user_read {

// Keeps the compiler from moving reads of the page over it; the hardware keeps a thread's own reads
// and the kernel's writes on the same CPU in order. (The reads are plain, as in the kernel's
// header: the compiler can make them operands of other instructions, but not volatile reads.)
inline void Barrier() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }

// If the lock still changes after this many tries, the page is broken: a thread cannot be switched
// that often.
inline constexpr int kMaxTries = 1000;

}  // namespace user_read

// A flag in raw[0], in addition to the number of events, for a group that was read in user mode.
inline constexpr std::uint64_t kUserReading = std::uint64_t{1} << 63;

// The number of elements that ReadUserGroup writes for this many events.
constexpr std::size_t UserSlots(std::size_t events) { return 5 + events; }

// Writes a group: kUserReading and the number of events, the leader's times when its page was
// written, each count, and the two inputs of the time since then: the page's offset and the current
// cycles. Returns false if an event is currently not on a counter, or if a page keeps changing.
template <class Reads = HardwareReads>
[[gnu::always_inline]] inline bool ReadUserGroup(std::span<const perf_event_mmap_page* const> pages,
                                                 std::uint64_t* raw) noexcept {
  using user_read::Barrier;
  int tries = user_read::kMaxTries;
  const std::size_t events = pages.size();
  for (std::size_t i = 0; i < events; ++i) {
    const perf_event_mmap_page& page = *pages[i];
    for (;;) {
      const std::uint32_t lock = page.lock;
      Barrier();
      const std::uint32_t index = page.index;
      if (index == 0) [[unlikely]]
        return false;
      raw[3 + i] = Reads::Counter(index - 1) + static_cast<std::uint64_t>(page.offset);
      Barrier();
      if (page.lock == lock) [[likely]]
        break;
      if (--tries == 0) return false;
    }
  }
  const perf_event_mmap_page& leader = *pages[0];
  for (;;) {
    const std::uint32_t lock = leader.lock;
    Barrier();
    raw[1] = leader.time_enabled;
    raw[2] = leader.time_running;
    raw[3 + events] = leader.time_offset;
    raw[4 + events] = Reads::Cycles();
    Barrier();
    if (leader.lock == lock) [[likely]]
      break;
    if (--tries == 0) return false;
  }
  raw[0] = kUserReading | events;
  return true;
}

// The times of such a reading: those in the page plus the time since it was written, computed from
// the cycles by the page's scale (linux/perf_event.h, time_mult and time_shift). An event that was
// read this way was on its counter.
UserTimes UserTimesOf(std::uint64_t enabled, std::uint64_t running, std::uint64_t offset,
                      std::uint64_t cycles, const perf_event_mmap_page& page);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_COUNTERS_USER_READ_H_
