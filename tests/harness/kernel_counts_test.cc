// What is counted as a region's own code, and how its loops are recognised again.

#include "harness/hot/kernel_counts.h"

#include <gmock/gmock.h>
#include <gnu/libc-version.h>
#include <gtest/gtest.h>

#include <cstring>
#include <utility>

#include "harness/exact/counter.h"

namespace topdnn {
namespace {

using testing::ElementsAre;
using Bytes = std::vector<std::uint8_t>;

constexpr std::uint64_t kIterations = 1000;

// A loop of `body`, then dec rcx and jnz, at an address; and a return.
BlockProfile LoopOf(Bytes body, std::uint64_t at, std::uint64_t iterations = kIterations) {
  body.insert(body.end(), {0x48, 0xff, 0xc9, 0x75});
  body.push_back(static_cast<std::uint8_t>(-static_cast<int>(body.size()) - 1));
  const std::uint64_t end = at + body.size();
  BlockProfile profile;
  profile.blocks.push_back({at, end, iterations, false, std::move(body)});
  profile.blocks.push_back({end, end + 1, 1, false, {0xc3}});
  profile.branches.push_back({end - 2, iterations - 1, 1});
  return profile;
}

KernelCounts CountsOf(const BlockProfile& profile) {
  CodePlaces places({});
  return KernelCountsOf(profile, places);
}

const Bytes kFma = {0xc4, 0xc2, 0x3d, 0xb8, 0xc1};  // vfmadd231ps ymm0, ymm8, ymm9
const Bytes kLoad = {0xc5, 0xfc, 0x10, 0x1e};       // vmovups ymm3, [rsi]
const Bytes kPause = {0xf3, 0x90};

Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(KernelCounts, SumsUpTheBlocks) {
  const KernelCounts own = CountsOf(LoopOf(kFma + kLoad, 0x1000));
  EXPECT_EQ(own.counts.instructions, 4 * kIterations + 1);
  EXPECT_EQ(own.counts.flops(), 16 * kIterations);
  EXPECT_EQ(own.counts.loads, kIterations + 1);  // (the return reads its address)
  EXPECT_EQ(own.counts.load_bytes, 32 * kIterations + 8);
  EXPECT_EQ(own.counts.conditional_taken, kIterations - 1);
  EXPECT_TRUE(own.left_out.empty());
  ASSERT_EQ(own.loops.size(), 1U);
  EXPECT_EQ(own.loops[0].iterations, kIterations);
  EXPECT_EQ(own.loops[0].instructions, 4 * kIterations);
  EXPECT_EQ(own.loops[0].place, "JIT code");
  EXPECT_THAT(own.loops[0].listing,
              ElementsAre("      vfmadd231ps ymm0, ymm8, ymm9", "      vmovups ymm3, [rsi]",
                          "      dec rcx", testing::StartsWith("      jnz ")));
}

// Products of 16 x 16 sums over 16 groups of 2 (bf16) and 4 (int8).
TEST(KernelCounts, AddsTheOperationsOfTiles) {
  constexpr std::uint64_t kProducts = 2 * 16 * 16 * 16;
  BlockProfile bf16 = LoopOf({0xc4, 0xe2, 0x6a, 0x5c, 0xc1}, 0x1000);  // tdpbf16ps tmm0, tmm1, tmm2
  bf16.tile_operations[0x1000] = kIterations * kProducts * 2;
  EXPECT_EQ(CountsOf(bf16).counts.flops(), kIterations * kProducts * 2);
  EXPECT_EQ(CountsOf(bf16).counts.amx_int8_ops, 0U);
  BlockProfile int8 = LoopOf({0xc4, 0xe2, 0x6b, 0x5e, 0xc1}, 0x1000);  // tdpbssd tmm0, tmm1, tmm2
  int8.tile_operations[0x1000] = kIterations * kProducts * 4;
  EXPECT_EQ(CountsOf(int8).counts.flops(), 0U);
  EXPECT_EQ(CountsOf(int8).counts.amx_int8, kIterations);
  EXPECT_EQ(CountsOf(int8).counts.amx_int8_ops, kIterations * kProducts * 4);
}

TEST(KernelCounts, KnowsALoopAgainWhereverItIsLoaded) {
  const std::string code = CountsOf(LoopOf(kFma, 0x1000)).loops[0].code;
  EXPECT_EQ(CountsOf(LoopOf(kFma, 0x7f0000001010)).loops[0].code, code);
  EXPECT_EQ(CountsOf(LoopOf(kFma, 0x1000, 7)).loops[0].code, code);
  // Across two lines of code.
  EXPECT_EQ(CountsOf(LoopOf(kFma, 0x103e)).loops[0].listing,
            CountsOf(LoopOf(kFma, 0x1000)).loops[0].listing);
  EXPECT_NE(CountsOf(LoopOf(kFma + kFma, 0x1000)).loops[0].code, code);
  EXPECT_NE(CountsOf(LoopOf(kLoad, 0x1000)).loops[0].code, code);
  // Another register: vfmadd231ps ymm0, ymm8, ymm10.
  EXPECT_NE(CountsOf(LoopOf({0xc4, 0xc2, 0x3d, 0xb8, 0xc2}, 0x1000)).loops[0].code, code);
}

TEST(KernelCounts, ForgetsTheAddressesOfData) {
  const auto code = [](std::uint8_t byte) {  // mov r9, 0x7ffa5ccea1XX
    return CountsOf(LoopOf({0x49, 0xb9, byte, 0xa1, 0xce, 0x5c, 0xfa, 0x7f, 0, 0}, 0x1000))
        .loops[0];
  };
  EXPECT_EQ(code(0x40).code, code(0x80).code);
  EXPECT_EQ(code(0x40).listing, code(0x80).listing);
  const auto relative = [](std::uint8_t byte) {  // vmovups ymm3, [rip + XX]
    return CountsOf(LoopOf({0xc5, 0xfc, 0x10, 0x1d, byte, 0x10, 0, 0}, 0x1000)).loops[0].code;
  };
  EXPECT_EQ(relative(0x40), relative(0x80));
}

TEST(KernelCounts, LeavesWaitingOut) {
  BlockProfile profile = LoopOf(kFma, 0x1000);
  const BlockProfile waiting = LoopOf(kPause, 0x2000, 77);
  profile.blocks.push_back(waiting.blocks[0]);
  profile.branches.push_back(waiting.branches[0]);
  const KernelCounts own = CountsOf(profile);
  EXPECT_EQ(own.counts.instructions, 3 * kIterations + 1);
  EXPECT_THAT(own.left_out,
              ElementsAre(std::pair<const std::string, std::uint64_t>(kWaitingLoops, 3 * 77)));
  EXPECT_EQ(own.loops.size(), 1U);
  // A loop that need not wait is no loop, and is left out all the same.
  profile.blocks[2].times = 1;
  profile.branches[1] = {waiting.branches[0].address, 0, 1};
  EXPECT_EQ(CountsOf(profile).counts.instructions, 3 * kIterations + 1);
}

// pause; jz to the next instruction; dec rcx; jnz to the first: two blocks, of which one waits.
TEST(KernelCounts, LeavesAllOfAWaitingLoopOut) {
  BlockProfile profile;
  profile.blocks.push_back({0x2000, 0x2004, 77, false, {0xf3, 0x90, 0x74, 0x00}});
  profile.blocks.push_back({0x2004, 0x2009, 77, false, {0x48, 0xff, 0xc9, 0x75, 0xf7}});
  profile.blocks.push_back({0x2009, 0x200a, 1, false, {0xc3}});
  profile.branches = {{0x2002, 0, 77}, {0x2007, 76, 1}};
  const KernelCounts own = CountsOf(profile);
  EXPECT_EQ(own.counts.instructions, 1U);
  EXPECT_TRUE(own.loops.empty());
}

TEST(KernelCounts, LeavesTheRuntimeAndTheCLibraryOut) {
  BlockProfile profile = LoopOf(kFma, 0x1000);
  const Bytes two = {0x90, 0x90};
  profile.blocks.push_back({0x3000, 0x3002, 10, true, two});
  // An address of the C library, of a function that no sanitizer replaces.
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast)
  const auto libc = reinterpret_cast<std::uint64_t>(&gnu_get_libc_version) & ~std::uint64_t{1};
  profile.blocks.push_back({libc, libc + 2, 5, false, two});
  const KernelCounts own = CountsOf(profile);
  EXPECT_EQ(own.counts.instructions, 3 * kIterations + 1);
  EXPECT_THAT(own.left_out,
              ElementsAre(std::pair<const std::string, std::uint64_t>("libc", 10),
                          std::pair<const std::string, std::uint64_t>("libgomp", 20)));
}

// The same loop twice; one has an instruction more.
template <bool kOneMore>
void Loop(void* /*nothing*/) {
  std::uint64_t left = kIterations;
  if constexpr (kOneMore) {
    asm volatile("1: addps %%xmm0, %%xmm0\n nop\n dec %0\n jnz 1b" : "+r"(left) : : "xmm0", "cc");
  } else {
    asm volatile("1: addps %%xmm0, %%xmm0\n dec %0\n jnz 1b" : "+r"(left) : : "xmm0", "cc");
  }
}

TEST(KernelCounts, FindsOneInstructionMoreInARealLoop) {
  if (const auto exact = ExactCounter::Probe(); !exact.works) GTEST_SKIP() << exact.reason;
  const auto counted = [](void (*function)(void*)) {
    BlockProfile blocks;
    ExactCounter::Count(function, nullptr, &blocks);
    CodePlaces places({});
    return KernelCountsOf(blocks, places);
  };
  const KernelCounts a = counted(Loop<false>);
  const KernelCounts b = counted(Loop<true>);
  EXPECT_EQ(b.counts.instructions - a.counts.instructions, kIterations);
  EXPECT_EQ(b.counts.flops(), a.counts.flops());
  ASSERT_EQ(a.loops.size(), 1U);
  ASSERT_EQ(b.loops.size(), 1U);
  EXPECT_NE(a.loops[0].code, b.loops[0].code);
  EXPECT_EQ(b.loops[0].listing.size(), a.loops[0].listing.size() + 1);
  EXPECT_THAT(b.loops[0].listing, testing::Contains("      nop"));
  EXPECT_THAT(a.loops[0].place, testing::HasSubstr("test_"));
  EXPECT_EQ(counted(Loop<false>).loops[0].code, a.loops[0].code);
}

}  // namespace
}  // namespace topdnn
