// A counter read without a system call: the kernel keeps a page for each event that says on which
// hardware counter it is and what it had counted before, under a sequence lock, and the counter
// itself is read by RDPMC (linux/perf_event.h, struct perf_event_mmap_page; Intel SDM volume 2,
// RDPMC). It is right for the event's own thread alone.
//
// The reading is a function of the page, and of two instructions that tests replace.

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

namespace topdnn {

struct UserTimes {
  std::uint64_t enabled = 0;  // ns
  std::uint64_t running = 0;  // ns
};

// A counter of 48 bits, as RDPMC leaves it in two registers: what it holds is signed.
constexpr std::uint64_t SignedCounter(std::uint64_t low, std::uint64_t high) noexcept {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int16_t>(high)))
             << 32 |
         low;
}

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

// Whether a page can be read at all: the kernel allows RDPMC, the counter has the 48 bits of all x86
// cores with such pages, and the scale of the time stamp counter is there, without which the time
// since the last switch would be missing.
bool IsReadableByUser(const perf_event_mmap_page& page);

namespace user_read {

// Read at this place and no other.
template <class T>
T Once(const T& field) noexcept {
  return *const_cast<const volatile T*>(&field);
}

inline void Barrier() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }

// A page whose lock moves forever is broken; a thread cannot be switched that often.
inline constexpr int kMostTries = 1000;

}  // namespace user_read

// Marks raw[0] of a group that was read here, beside the number of its events.
inline constexpr std::uint64_t kUserReading = std::uint64_t{1} << 63;

// Places that ReadUserGroup fills for so many events.
constexpr std::size_t UserSlots(std::size_t events) { return 5 + events; }

// A group: kUserReading and events, the leader's times when its page was written, count..., and what
// the time since then is made of: the page's offset and the cycles now. False when an event is not
// on a counter now, or a page never rests.
template <class Reads = HardwareReads>
bool ReadUserGroup(std::span<const perf_event_mmap_page* const> pages, std::uint64_t* raw) noexcept {
  using user_read::Barrier;
  using user_read::Once;
  int tries = user_read::kMostTries;
  std::uint64_t* value = raw + 3;
  for (const perf_event_mmap_page* page : pages) {
    for (;;) {
      const std::uint32_t lock = Once(page->lock);
      Barrier();
      const std::uint32_t index = Once(page->index);
      if (index == 0) [[unlikely]] return false;
      const std::uint64_t count =
          static_cast<std::uint64_t>(Once(page->offset)) + Reads::Counter(index - 1);
      Barrier();
      if (Once(page->lock) == lock) [[likely]] {
        *value++ = count;
        break;
      }
      if (--tries == 0) return false;
    }
  }
  const perf_event_mmap_page& leader = *pages.front();
  for (;;) {
    const std::uint32_t lock = Once(leader.lock);
    Barrier();
    raw[1] = Once(leader.time_enabled);
    raw[2] = Once(leader.time_running);
    value[0] = Once(leader.time_offset);
    value[1] = Reads::Cycles();
    Barrier();
    if (Once(leader.lock) == lock) [[likely]] break;
    if (--tries == 0) return false;
  }
  raw[0] = kUserReading | pages.size();
  return true;
}

// The times of such a reading: the page's, and those since it was written, by its scale of the
// cycles (linux/perf_event.h, time_mult and time_shift). An event that was read was on its counter.
UserTimes UserTimesOf(std::uint64_t enabled, std::uint64_t running, std::uint64_t offset,
                      std::uint64_t cycles, const perf_event_mmap_page& page);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_COUNTERS_USER_READ_H_
