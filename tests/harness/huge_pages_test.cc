// Memory on small and on huge pages: what the kernel says about it, and a pointer chase on it.

#include "harness/experiments/huge_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "harness/experiments/interleaved.h"
#include "harness/experiments/ratios.h"

namespace topdnn {
namespace {

constexpr std::size_t kOneMib = std::size_t{1} << 20;

// As Linux writes it: a mapping in the range, one partly in it, and one beside it.
TEST(BackedBytesTest, CountsMappingsInsideOfTheRanges) {
  const std::string smaps =
      "7f0000200000-7f0000600000 rw-p 00000000 00:00 0 \n"
      "Size:               4096 kB\n"
      "AnonHugePages:      2048 kB\n"
      "Private_Hugetlb:       0 kB\n"
      "VmFlags: rd wr mr mw me ac hg \n"
      "7f0000600000-7f0000a00000 rw-p 00000000 00:0f 1234   /anon_hugepage (deleted)\n"
      "AnonHugePages:         0 kB\n"
      "Private_Hugetlb:    4096 kB\n"
      "7f0000a00000-7f0000e00000 rw-p 00000000 00:00 0 \n"
      "AnonHugePages:      4096 kB\n"
      "7f1000000000-7f1000200000 r--p 00000000 08:01 77 /a-b c:d\n"
      "AnonHugePages:      2048 kB\n";
  // (addresses of a process that does not exist: only compared)
  auto* const begin = reinterpret_cast<std::byte*>(std::uintptr_t{0x7f0000200000});
  const std::vector<std::span<std::byte>> ranges = {{begin, 10 * kOneMib}};
  const BackedBytes backed = BackedBytesOf(smaps, ranges);
  EXPECT_EQ(backed.mapped, 8 * kOneMib);
  EXPECT_EQ(backed.transparent, 2 * kOneMib);
  EXPECT_EQ(backed.reserved, 4 * kOneMib);
  EXPECT_EQ(backed.On(PageKind::kSmall), 2 * kOneMib);
}

CpuidLeaves LeavesOf(std::vector<std::pair<std::uint32_t, CpuidRegisters>> leaves) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, CpuidRegisters> all;
  std::uint32_t tlb = 0;
  for (const auto& [leaf, registers] : leaves) all[{leaf, leaf == 0x18 ? tlb++ : 0}] = registers;
  return CpuidLeaves(std::move(all));
}

// Zen 4: 3072 entries for both sizes. Zen 5: 4096 entries, written as 128 times 32. Intel: a TLB
// of 2048 entries (8 ways, 256 sets) for both, behind one of 96 entries for loads.
TEST(TlbReachTest, ReadsAmdsAndIntelsLeaves) {
  const TlbReach zen4 = TlbReachOf(
      LeavesOf({{1, {.eax = 0x00a10f11}}, {0x80000006, {.eax = 0x5c002200, .ebx = 0x6c004200}}}));
  EXPECT_EQ(zen4.small, 12.0 * kOneMib);
  EXPECT_EQ(zen4.huge, 6144.0 * kOneMib);
  const TlbReach zen5 = TlbReachOf(
      LeavesOf({{1, {.eax = 0x00b00f21}}, {0x80000006, {.eax = 0x40802040, .ebx = 0x60804040}}}));
  EXPECT_EQ(zen5.small, 16.0 * kOneMib);
  EXPECT_EQ(zen5.huge, 8192.0 * kOneMib);
  const TlbReach intel =
      TlbReachOf(LeavesOf({{0x18, {.eax = 2}},
                           {0x18, {.ebx = 0x00060001, .ecx = 16, .edx = 0x24}},
                           {0x18, {.ebx = 0x00080003, .ecx = 256, .edx = 0x43}}}));
  EXPECT_EQ(intel.small, 8.0 * kOneMib);
  EXPECT_EQ(intel.huge, 4096.0 * kOneMib);
  EXPECT_FALSE(TlbReachOf({}).small);
}

// Follows pointers through all lines of some memory, in a random order: nearly every step needs
// another page.
class Chase {
 public:
  explicit Chase(std::size_t bytes) : bytes_(bytes + kHugePage) {
    void* const mapped =
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    memory_ = static_cast<std::byte*>(mapped);
    lines_.resize(bytes / sizeof(Line));
    std::iota(lines_.begin(), lines_.end(), 0U);
    std::shuffle(lines_.begin(), lines_.end(), std::mt19937(1));
    auto* const first = reinterpret_cast<Line*>(
        (reinterpret_cast<std::uintptr_t>(memory_) + kHugePage - 1) / kHugePage * kHugePage);
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      first[lines_[i]].next = &first[lines_[(i + 1) % lines_.size()]];
    }
    at_ = first;
  }
  ~Chase() { munmap(memory_, bytes_); }
  Chase(const Chase&) = delete;
  Chase& operator=(const Chase&) = delete;

  std::span<std::byte> memory() const { return {memory_, bytes_}; }
  // Whether the pointers still go once around.
  bool IsWhole() const {
    const Line* line = at_->next;
    std::size_t steps = 1;
    for (; line != at_ && steps <= lines_.size(); ++steps) line = line->next;
    return steps == lines_.size();
  }
  void operator()() {
    for (int i = 0; i < 100'000; ++i) at_ = at_->next;
    asm volatile("" : : "r"(at_));
  }

 private:
  struct Line {
    const Line* next;
    char padding[56];
  };
  std::size_t bytes_;
  std::byte* memory_ = nullptr;
  std::vector<std::uint32_t> lines_;
  const Line* at_ = nullptr;
};

TEST(ExchangedPagesTest, AChaseRunsOnThePagesThatSmapsProves) {
  constexpr std::size_t kBytes = 64 * kOneMib;
  if (const std::string why = WhyNoPages(PageKind::kTransparent, kBytes); !why.empty()) {
    GTEST_SKIP() << why;
  }
  Chase chase(kBytes);
  const std::vector<std::span<std::byte>> ranges = {chase.memory()};
  ExchangedPages pages(ranges);
  ASSERT_GE(pages.bytes(), kBytes);
  pages.Use(PageKind::kTransparent);
  if (pages.Backing().transparent < pages.bytes()) {
    GTEST_SKIP() << "the kernel has no huge pages free";
  }
  const std::vector<TimedStage> stages = {{"chase", Action::Of(chase)}};
  std::vector<Condition> conditions;
  for (const PageKind kind : {PageKind::kSmall, PageKind::kTransparent}) {
    conditions.push_back({stages,
                          {},
                          [&pages, kind] {
                            pages.Use(kind);
                            EXPECT_GE(pages.Backing().On(kind) * 20, pages.bytes() * 19);
                          },
                          {}});
  }
  const ConditionTimes times = RunInterleaved(conditions, {.seconds = 0.1, .progress = {}});
  EXPECT_TRUE(chase.IsWhole());
  const auto factor = FactorOf(times[0][0], times[1][0]);
  if (factor) {
    RecordProperty("factor", std::to_string(factor->low) + " to " + std::to_string(factor->high));
  }
  // (the gain depends on the TLB and on other work: docs/memory-experiment.md has one)
}

TEST(ExchangedPagesTest, ReservedPagesKeepTheContentsOrAReasonIsGiven) {
  Chase chase(4 * kOneMib);
  const std::vector<std::span<std::byte>> ranges = {chase.memory()};
  {
    ExchangedPages pages(ranges);
    const std::string why = WhyNoPages(PageKind::kReserved, pages.bytes());
    if (!why.empty()) {
      EXPECT_THAT(why, testing::HasSubstr("reserved"));
      GTEST_SKIP() << why;
    }
    pages.Use(PageKind::kReserved);
    EXPECT_EQ(pages.Backing().reserved, pages.bytes());
    EXPECT_TRUE(chase.IsWhole());
  }
  EXPECT_TRUE(chase.IsWhole());
}

}  // namespace
}  // namespace topdnn
