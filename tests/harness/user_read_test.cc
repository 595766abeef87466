// Counters read through their mapped page, with a page and a counter that the test simulates.

#include "harness/counters/user_read.h"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "harness/counters/perf_group.h"
#include "harness/exact/counter.h"

namespace topdnn {
namespace {

// The counter's bits, the cycles, and a page that changes during the first readings.
struct Played {
  static inline std::uint64_t counter = 0;
  static inline std::uint64_t cycles = 0;
  static inline std::uint32_t index = 0;
  static inline perf_event_mmap_page* changing = nullptr;
  static inline int changes = 0;

  static std::uint64_t Counter(std::uint32_t asked) noexcept {
    index = asked;
    Change();
    return counter;
  }
  static std::uint64_t Cycles() noexcept {
    Change();
    return cycles;
  }
  static void Change() noexcept {
    if (changing == nullptr || changes == 0) return;
    --changes;
    changing->lock += 2;
    changing->offset += 1000;
    changing->time_enabled += 5;
  }
};

perf_event_mmap_page Page() {
  perf_event_mmap_page page{};
  page.lock = 4;
  page.index = 3;
  page.offset = 1'000'000;
  page.time_enabled = 700;
  page.time_running = 600;
  page.pmc_width = 48;
  page.cap_user_rdpmc = 1;
  page.cap_user_time = 1;
  page.time_shift = 4;
  page.time_mult = 8;  // half a nanosecond per cycle
  page.time_offset = 11;
  return page;
}

class UserReadTest : public testing::Test {
 protected:
  void SetUp() override {
    Played::counter = Played::cycles = 0;
    Played::changing = nullptr;
    Played::changes = 0;
  }
};

// One page as a group with one event.
struct Group {
  bool good;
  std::array<std::uint64_t, UserSlots(1)> raw{};

  explicit Group(const perf_event_mmap_page& page) {
    const perf_event_mmap_page* address = &page;
    good = ReadUserGroup<Played>(std::span(&address, 1), raw.data());
  }
  std::uint64_t value() const { return raw[3]; }
};

TEST_F(UserReadTest, AddsTheCounterToTheKernelsCount) {
  const perf_event_mmap_page page = Page();
  Played::counter = 500;
  Played::cycles = 77;
  const Group group(page);
  ASSERT_TRUE(group.good);
  EXPECT_EQ(group.raw[0], kUserReading | 1);
  EXPECT_EQ(group.value(), 1'000'500u);
  EXPECT_EQ(Played::index, 2u);  // the page counts from 1
  EXPECT_EQ(group.raw[1], 700u);
  EXPECT_EQ(group.raw[2], 600u);
  EXPECT_EQ(group.raw[4], 11u);
  EXPECT_EQ(group.raw[5], 77u);
  // The kernel starts a counter at a negative number, of 48 bits.
  EXPECT_EQ(SignedCounter(0xFFFF'FFFE, 0xFFFF), static_cast<std::uint64_t>(-2));
  EXPECT_EQ(SignedCounter(5, 0x7FFF), 0x7FFF'0000'0005u);
}

TEST_F(UserReadTest, AnEventOffItsCounterIsReadByTheKernel) {
  perf_event_mmap_page page = Page();
  page.index = 0;
  EXPECT_FALSE(Group(page).good);
}

TEST_F(UserReadTest, AChangedPageIsReadAgain) {
  perf_event_mmap_page page = Page();
  Played::changing = &page;
  Played::changes = 3;
  const Group group(page);
  ASSERT_TRUE(group.good);
  EXPECT_EQ(group.value(), 1'003'000u);
  EXPECT_EQ(group.raw[1], 700u + 3 * 5);
  // A page whose lock keeps changing is not read.
  Played::changes = 1 << 30;
  EXPECT_FALSE(Group(page).good);
}

TEST_F(UserReadTest, TimesContinueAfterThePageWasWritten) {
  const UserTimes times = UserTimesOf(700, 600, 11, 1003, Page());
  const std::uint64_t since = 11 + 1003 / 2;
  EXPECT_EQ(times.enabled, 700 + since);
  EXPECT_EQ(times.running, 600 + since);
  // The product of cycles and scale exceeds 64 bits.
  EXPECT_EQ(UserTimesOf(0, 0, 0, std::uint64_t{1} << 63, Page()).enabled, std::uint64_t{1} << 62);
}

TEST_F(UserReadTest, OnlyAPageThatAllowsItIsRead) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "user reads exist only on x86";
#endif
  EXPECT_TRUE(IsReadableByUser(Page()));
  perf_event_mmap_page no_rdpmc = Page();
  no_rdpmc.cap_user_rdpmc = 0;
  EXPECT_FALSE(IsReadableByUser(no_rdpmc));
  perf_event_mmap_page no_time = Page();
  no_time.cap_user_time = 0;
  EXPECT_FALSE(IsReadableByUser(no_time));
  perf_event_mmap_page no_width = Page();
  no_width.pmc_width = 40;
  EXPECT_FALSE(IsReadableByUser(no_width));
}

// A kernel that maps `page` and counts mappings and reads.
struct Mapping {
  perf_event_mmap_page page = Page();
  bool refuse = false;
  int mapped = 0;
  int reads = 0;
  int opened = 0;

  PerfSyscalls Calls() {
    return {.open = [this](const perf_event_attr&, pid_t, int, int) { return 10 + opened++; },
            .read = [this](int, void* buffer, std::size_t bytes) -> ssize_t {
              ++reads;
              auto* values = static_cast<std::uint64_t*>(buffer);
              for (std::size_t i = 0; i < bytes / sizeof *values; ++i) values[i] = 2;
              return static_cast<ssize_t>(bytes);
            },
            .control = [](int, unsigned long, unsigned long) { return 0; },
            .close = [](int) {},
            .map = [this](int) -> const perf_event_mmap_page* {
              if (refuse) return nullptr;
              ++mapped;
              return &page;
            },
            .unmap = [this](const perf_event_mmap_page*) { --mapped; }};
  }
};

const std::vector<ResolvedEvent> kTwo = {{"a", PERF_TYPE_RAW, 1, "raw"},
                                         {"b", PERF_TYPE_RAW, 2, "raw"}};

TEST_F(UserReadTest, AGroupFallsBackToTheKernel) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "user reads exist only on x86";
#endif
  Mapping mapping;
  {
    PerfGroup group(mapping.Calls());
    group.Open(kTwo);
    EXPECT_TRUE(group.MapForUser());
    EXPECT_EQ(mapping.mapped, 2);
    mapping.page.index = 0;  // not on a counter now: RDPMC would read another event
    EXPECT_EQ(group.Read().size(), 2u);
    EXPECT_EQ(mapping.reads, 1);
  }
  EXPECT_EQ(mapping.mapped, 0);
  mapping.page.cap_user_rdpmc = 0;
  PerfGroup group(mapping.Calls());
  group.Open(kTwo);
  EXPECT_FALSE(group.MapForUser());
  EXPECT_EQ(mapping.mapped, 0);
  mapping.refuse = true;
  EXPECT_FALSE(group.MapForUser());
  EXPECT_EQ(mapping.mapped, 0);
}

TEST_F(UserReadTest, AReadingByUserIsDecodedWithItsTimes) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "user reads exist only on x86";
#endif
  Mapping mapping;
  PerfGroup group(mapping.Calls());
  group.Open(kTwo);
  ASSERT_TRUE(group.MapForUser());
  ASSERT_EQ(group.slots(), UserSlots(2));
  // The page's times, two counts, the page's offset, and 1,000 cycles of half a nanosecond.
  const std::vector<std::uint64_t> raw = {kUserReading | 2, 700, 600, 41, 42, 11, 1000};
  const auto readings = group.Decode(raw);
  ASSERT_EQ(readings.size(), 2u);
  EXPECT_EQ(readings[0].value, 41u);
  EXPECT_EQ(readings[1].value, 42u);
  EXPECT_EQ(readings[1].enabled, 700u + 11 + 500);
  EXPECT_EQ(readings[1].running, 600u + 11 + 500);
  // A reading by the kernel has no such offset.
  const std::vector<std::uint64_t> by_kernel = {2, 700, 600, 41, 42, 0, 0};
  ASSERT_EQ(group.Decode(by_kernel).size(), 2u);
  EXPECT_EQ(group.Decode(by_kernel)[1].enabled, 700u);
  EXPECT_TRUE(group.Decode(std::vector<std::uint64_t>{kUserReading | 3, 0, 0, 0, 0, 0, 0}).empty());
}

TEST_F(UserReadTest, NeitherMetricsNorOtherThreadsAreReadByUser) {
  Mapping mapping;
  const std::vector<ResolvedEvent> slots = {{"slots", PERF_TYPE_RAW, 0x400, "raw"},
                                            {"topdown-retiring", PERF_TYPE_RAW, 0x8000, "raw"}};
  PerfGroup metrics(mapping.Calls());
  metrics.Open(slots);
  EXPECT_FALSE(metrics.MapForUser());
  PerfGroup other(mapping.Calls());
  other.Open(kTwo, PerfScope::Thread(101));
  EXPECT_FALSE(other.MapForUser());
  PerfGroup on_cpu(mapping.Calls());
  on_cpu.Open(kTwo, PerfScope::Cpu(0));
  EXPECT_FALSE(on_cpu.MapForUser());
  EXPECT_EQ(mapping.mapped, 0);
}

#if defined(__x86_64__)

// One instruction that fills two registers, as RDPMC and RDTSC do.
struct OneInstruction {
  static std::uint64_t Counter(std::uint32_t index) noexcept {
    std::uint64_t low = index;
    std::uint64_t high;
    asm volatile("cltd" : "+a"(low), "=d"(high));
    return SignedCounter(low, high);
  }
  static std::uint64_t Cycles() noexcept {
    std::uint64_t low, high;
    asm volatile("cltd" : "=a"(low), "=d"(high));
    return low | high << 32;
  }
};

// Two marks of five events.
struct PairOfMarks {
  std::array<perf_event_mmap_page, 5> pages{};
  std::array<const perf_event_mmap_page*, 5> addresses{};
  std::array<std::uint64_t, 2 * UserSlots(5)> raw{};
  bool good = false;

  PairOfMarks() {
    for (std::size_t i = 0; i < pages.size(); ++i) {
      pages[i] = Page();
      addresses[i] = &pages[i];
    }
  }
  void operator()() noexcept {
    good = ReadUserGroup<OneInstruction>(addresses, &raw[0]) &&
           ReadUserGroup<OneInstruction>(addresses, &raw[UserSlots(5)]);
  }
};

TEST_F(UserReadTest, APairOfMarksIsAtMost250Instructions) {
  if (!ExactCounter::Probe().works) GTEST_SKIP() << ExactCounter::Probe().reason;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
  GTEST_SKIP() << "an instrumented build executes other instructions";
#endif
  PairOfMarks marks;
  const ExactCounts counts = ExactCounter::Count(marks);
  EXPECT_TRUE(marks.good);
  EXPECT_EQ(marks.raw[UserSlots(5)], kUserReading | 5);
  EXPECT_EQ(marks.raw[UserSlots(5) + 7],
            1'000'002u);  // index 3 less 1, as OneInstruction returns it
  ASSERT_TRUE(counts.complete) << counts.incomplete_reason;
  std::printf("two marks of five events by RDPMC: %llu instructions\n",
              static_cast<unsigned long long>(counts.instructions));
  EXPECT_GT(counts.instructions, 50u);
  EXPECT_LE(counts.instructions, 250u);
}

#endif

}  // namespace
}  // namespace topdnn
