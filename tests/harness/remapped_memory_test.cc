// Memory whose pages are exchanged: what lies behind each address, and that it is put back.

#include "harness/experiments/remapped_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>
#include <sys/mman.h>

#include <cmath>
#include <cstring>
#include <vector>

namespace topdnn {
namespace {

using testing::Each;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SKIP_WITHOUT_REMAPPING() \
  GTEST_SKIP() << "the sanitizer's handler of faults replaces that of the experiment"
#else
#define SKIP_WITHOUT_REMAPPING() \
  if (const std::string why = WhyNoRemapping(); !why.empty()) GTEST_SKIP() << why
#endif

constexpr std::size_t kPages = 64;
// 11 shared pages, and 5 for each writer.
constexpr FootprintSize kSmall = {.shared = 12 * kRemapPage, .per_writer = 6 * kRemapPage};

// Page k holds the number 100 + k in every byte.
class Memory {
 public:
  Memory()
      : data_(static_cast<unsigned char*>(mmap(nullptr, kPages * kRemapPage, PROT_READ | PROT_WRITE,
                                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    for (std::size_t k = 0; k < kPages; ++k) std::memset(Page(k), static_cast<int>(100 + k), 4096);
  }
  ~Memory() { munmap(data_, kPages * kRemapPage); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  unsigned char* Page(std::size_t k) const { return data_ + k * kRemapPage; }
  std::vector<std::span<std::byte>> ranges() const {
    return {{reinterpret_cast<std::byte*>(data_), kPages * kRemapPage}};
  }
  std::vector<int> FirstBytes() const {
    std::vector<int> bytes;
    for (std::size_t k = 0; k < kPages; ++k) bytes.push_back(*Page(k));
    return bytes;
  }

 private:
  unsigned char* data_;
};

std::vector<int> Original() {
  std::vector<int> bytes;
  for (std::size_t k = 0; k < kPages; ++k) bytes.push_back(static_cast<int>(100 + k));
  return bytes;
}

// Reads pages 0 to 31, and writes pages 32 to 63.
struct ReadsAndWrites {
  const Memory* memory;
  void operator()() const {
    for (std::size_t k = 0; k < 32; ++k) {
      *memory->Page(32 + k) = static_cast<unsigned char>(*memory->Page(k) + 1);
    }
  }
};

TEST(PrimePagesTest, IsTheLargestPrimeThatFits) {
  EXPECT_EQ(PrimePages(12 * kRemapPage), 11U);
  EXPECT_EQ(PrimePages(13 * kRemapPage), 13U);
  EXPECT_EQ(PrimePages(13 * kRemapPage - 1), 11U);
  EXPECT_EQ(PrimePages(0), 2U);
}

TEST(RemappedMemoryTest, TheOriginalPagesComeBack) {
  SKIP_WITHOUT_REMAPPING();
  const Memory memory;
  {
    RemappedMemory remapped(memory.ranges(), 1, {{kSmall}});
    EXPECT_EQ(memory.FirstBytes(), Original());
    std::memset(memory.Page(3), 7, kRemapPage);
    remapped.ResetContents();
    EXPECT_EQ(memory.FirstBytes(), Original());
    std::memset(memory.Page(3), 7, kRemapPage);
  }
  EXPECT_EQ(memory.FirstBytes(), Original());
}

TEST(RemappedMemoryTest, OnlyWholePagesAreTaken) {
  SKIP_WITHOUT_REMAPPING();
  const Memory memory;
  const std::vector<std::span<std::byte>> part = {
      memory.ranges().front().subspan(10, 3 * kRemapPage)};
  EXPECT_EQ(RemappedMemory(part, 1, {{kSmall}}).bytes(), 2 * kRemapPage);
  const std::vector<std::span<std::byte>> none = {memory.ranges().front().subspan(10, kRemapPage)};
  EXPECT_THROW(RemappedMemory(none, 1, {{kSmall}}), RemapError);
}

TEST(RemappedMemoryTest, FindsThePagesThatARegionUses) {
  SKIP_WITHOUT_REMAPPING();
  const Memory memory;
  RemappedMemory remapped(memory.ranges(), 1, {{kSmall}});
  ReadsAndWrites region{&memory};
  const auto* kept = reinterpret_cast<const std::byte*>(memory.Page(40));
  const std::vector<std::span<const std::byte>> keep = {{kept + 100, 2 * kRemapPage}};
  const TouchedPages touched = remapped.Touch(Action::Of(region), keep);
  ASSERT_EQ(touched.runs.size(), 4U);
  EXPECT_EQ(touched.runs[0].first, 0U);
  EXPECT_EQ(touched.runs[0].count, 32U);
  EXPECT_EQ(touched.runs[0].use, TouchedPages::kRead);
  EXPECT_EQ(touched.runs[1].count, 8U);
  EXPECT_EQ(touched.runs[1].use, TouchedPages::kWritten);
  EXPECT_EQ(touched.runs[2].count, 3U);  // two pages of bytes, not at a page's start
  EXPECT_EQ(touched.runs[2].use, TouchedPages::kKept);
  EXPECT_EQ(touched.runs[3].count, 21U);
  EXPECT_EQ(touched.kept_bytes(), 3 * kRemapPage);
  EXPECT_EQ(touched.remapped_bytes(), 61 * kRemapPage);
}

TEST(RemappedMemoryTest, APageWithAddressesKeepsItsOwn) {
  SKIP_WITHOUT_REMAPPING();
  const Memory memory;
  RemappedMemory remapped(memory.ranges(), 1, {{kSmall}});
  auto region = [&memory] {
    *memory.Page(1) = 1;
    unsigned char* const address = memory.Page(9) + 5;
    std::memcpy(memory.Page(2) + 64, &address, sizeof address);
  };
  const TouchedPages touched = remapped.Touch(Action::Of(region), {});
  ASSERT_EQ(touched.runs.size(), 2U);
  EXPECT_EQ(touched.runs[0].use, TouchedPages::kWritten);
  EXPECT_EQ(touched.runs[1].first, 2U);
  EXPECT_EQ(touched.runs[1].use, TouchedPages::kKept);
}

TEST(RemappedMemoryTest, AFootprintLiesBehindManyAddresses) {
  SKIP_WITHOUT_REMAPPING();
  const Memory memory;
  RemappedMemory remapped(memory.ranges(), 1, {{kSmall}});
  ReadsAndWrites region{&memory};
  const TouchedPages touched = remapped.Touch(Action::Of(region), {});
  remapped.MapFootprint(0, touched);
  // Written pages 5 apart are the same memory, and so are pages 11 apart that are only read.
  *memory.Page(32) = 77;
  for (std::size_t k = 32; k < kPages; ++k) EXPECT_EQ(*memory.Page(k) == 77, (k - 32) % 5 == 0);
  *memory.Page(0) = 78;
  for (std::size_t k = 0; k < 32; ++k) EXPECT_EQ(*memory.Page(k) == 78, k % 11 == 0);
  const auto normal = [](float value) { return std::isnormal(value) && value > 0; };
  const std::vector<std::span<const float>> written = remapped.Written(0);
  ASSERT_EQ(written.size(), 1U);
  EXPECT_EQ(written[0].size(), 5 * kRemapPage / sizeof(float));
  EXPECT_THAT(written[0].subspan(1), Each(testing::Truly(normal)));
  remapped.MapFootprint(0, touched);  // fills it anew, shared pages and the writer's
  EXPECT_NE(*memory.Page(0), 78);
  EXPECT_NE(*memory.Page(32), 77);
  remapped.MapOwn(touched);
  // The region computed on its own pages; what was written to the footprint is gone.
  std::vector<int> expected = Original();
  for (std::size_t k = 0; k < 32; ++k) expected[32 + k] = static_cast<int>(101 + k);
  EXPECT_EQ(memory.FirstBytes(), expected);
}

TEST(RemappedMemoryTest, ThreadsThatWriteShareNoPage) {
  SKIP_WITHOUT_REMAPPING();
  const Memory memory;
  RemappedMemory remapped(memory.ranges(), 2, {{kSmall}});
  bool two = false;
  auto region = [&memory, &two] {
#pragma omp parallel num_threads(2)
    {
      if (omp_get_thread_num() == 0) two = omp_get_num_threads() == 2;
      for (std::size_t k = 0; k < 8; ++k) {
        *memory.Page(8 * static_cast<std::size_t>(omp_get_thread_num()) + k) = 1;
      }
    }
  };
  const TouchedPages touched = remapped.Touch(Action::Of(region), {});
  if (!two) GTEST_SKIP() << "OpenMP gives no team of two threads";
  ASSERT_EQ(touched.runs.size(), 2U);
  EXPECT_NE(touched.runs[0].use, touched.runs[1].use);
  remapped.MapFootprint(0, touched);
  for (std::size_t k = 0; k < 8; ++k) *memory.Page(k) = 1;
  for (std::size_t k = 8; k < 16; ++k) EXPECT_NE(*memory.Page(k), 1);
  remapped.MapOwn(touched);
}

}  // namespace
}  // namespace topdnn
