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
#include <cstdint>
#include <span>

namespace topdnn {

struct UserTimes {
  std::uint64_t enabled = 0;  // ns
  std::uint64_t running = 0;  // ns
};

// The instructions of this machine.
struct HardwareReads {
#if defined(__x86_64__)
  static std::uint64_t Counter(std::uint32_t index) noexcept {
    return __rdpmc(static_cast<int>(index));
  }
  static std::uint64_t Cycles() noexcept { return __rdtsc(); }
#else
  static std::uint64_t Counter(std::uint32_t) noexcept { return 0; }
  static std::uint64_t Cycles() noexcept { return 0; }
#endif
};

// Whether a page can be read at all: the kernel allows RDPMC and gives the time stamp counter's
// scale, without which the time since the last switch would be missing.
bool IsReadableByUser(const perf_event_mmap_page& page);

namespace user_read {

template <class T>
T Once(const T& field) noexcept {
  return *const_cast<const volatile T*>(&field);
}

inline void Barrier() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }

// A page whose lock moves forever is broken; a thread cannot be switched that often.
inline constexpr int kMostTries = 1000;

}  // namespace user_read

// The count so far. False when the event is not on a counter now. `shift`: 64 less the counter's
// width; the same for every page of a core.
template <class Reads = HardwareReads>
bool ReadUserCounter(const perf_event_mmap_page& page, unsigned shift,
                     std::uint64_t& value) noexcept {
  for (int tries = user_read::kMostTries; tries > 0; --tries) {
    const std::uint32_t lock = user_read::Once(page.lock);
    user_read::Barrier();
    const std::uint32_t index = user_read::Once(page.index);
    if (index == 0) [[unlikely]] return false;
    const auto offset = static_cast<std::uint64_t>(user_read::Once(page.offset));
    const std::uint64_t counter = Reads::Counter(index - 1);
    user_read::Barrier();
    if (user_read::Once(page.lock) != lock) [[unlikely]] continue;
    // What the counter's bits hold is signed.
    value = offset + static_cast<std::uint64_t>(static_cast<std::int64_t>(counter << shift) >> shift);
    return true;
  }
  return false;
}

// The times so far: what the page says, and the time since then.
template <class Reads = HardwareReads>
bool ReadUserTimes(const perf_event_mmap_page& page, UserTimes& times) noexcept {
  for (int tries = user_read::kMostTries; tries > 0; --tries) {
    const std::uint32_t lock = user_read::Once(page.lock);
    user_read::Barrier();
    const std::uint64_t enabled = user_read::Once(page.time_enabled);
    const std::uint64_t running = user_read::Once(page.time_running);
    const std::uint64_t offset = user_read::Once(page.time_offset);
    const std::uint32_t mult = user_read::Once(page.time_mult);
    const std::uint16_t shift = user_read::Once(page.time_shift);
    const std::uint64_t cycles = Reads::Cycles();
    const bool on = user_read::Once(page.index) != 0;
    user_read::Barrier();
    if (user_read::Once(page.lock) != lock) [[unlikely]] continue;
    const std::uint64_t whole = (cycles >> shift) * mult;
    const std::uint64_t rest = ((cycles & ((std::uint64_t{1} << shift) - 1)) * mult) >> shift;
    const std::uint64_t since = offset + whole + rest;
    times = {.enabled = enabled + since, .running = running + (on ? since : 0)};
    return true;
  }
  return false;
}

// A group, laid out as the kernel's own group reading: events, enabled, running, count... False when
// one of the events is not on a counter now.
template <class Reads = HardwareReads>
bool ReadUserGroup(std::span<const perf_event_mmap_page* const> pages, std::uint64_t* raw) noexcept {
  const unsigned shift = 64u - pages.front()->pmc_width;
  std::uint64_t* value = raw + 3;
  for (const perf_event_mmap_page* page : pages) {
    if (!ReadUserCounter<Reads>(*page, shift, *value++)) [[unlikely]] return false;
  }
  UserTimes times;
  if (!ReadUserTimes<Reads>(*pages.front(), times)) [[unlikely]] return false;
  raw[0] = pages.size();
  raw[1] = times.enabled;
  raw[2] = times.running;
  return true;
}

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_COUNTERS_USER_READ_H_
