// The blocks of a counted region: together they are exactly what the counter counts.

#include <gtest/gtest.h>

#include "harness/exact/counter.h"

#if defined(__x86_64__)

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "harness/exact/instructions/decode.h"
#include "harness/hot/executed_code.h"
#include "harness/machine/isa.h"

namespace topdnn {
namespace {

// Decodes the blocks' own copies of their code.
std::uint64_t InstructionsOf(const BlockProfile& profile) {
  std::uint64_t sum = 0;
  for (const ExecutedBlock& block : profile.blocks) {
    std::vector<std::uint8_t> code = block.code;
    code.resize(code.size() + ZYDIS_MAX_INSTRUCTION_LENGTH);
    std::uint64_t length = 0;
    for (std::size_t at = 0; at < block.code.size(); ++length) {
      Instruction i;
      Decode(AddressOf(static_cast<const std::uint8_t*>(&code[at])), &i);
      if (i.raw.length == 0) break;
      at += i.raw.length;
    }
    sum += length * block.times;
  }
  return sum;
}

void Sum(const std::vector<float>& values, float* sum) {
  for (const float value : values) *sum += value;
}

TEST(ExactBlocks, TimesLengthsAreTheInstructions) {
  const std::vector<float> values(1000, 1.5F);
  float sum = 0;
  auto region = [&] {
    for (int k = 0; k < 7; ++k) Sum(values, &sum);
  };
  BlockProfile blocks;
  const ExactCounts counts = ExactCounter::Count(region, &blocks);
  ASSERT_TRUE(counts.complete) << counts.incomplete_reason;
  EXPECT_EQ(InstructionsOf(blocks), counts.instructions);
  EXPECT_EQ(ReadExecutedCode(blocks).executed, counts.instructions);
  EXPECT_EQ(ReadExecutedCode(blocks).flops, counts.flops());
}

TEST(ExactBlocks, IncludeAllThreadsAndMarkOpenmp) {
  std::vector<double> values(4096, 2.0);
  auto region = [&] {
#pragma omp parallel for num_threads(2)
    for (std::size_t k = 0; k < values.size(); ++k) values[k] *= 1.25;
  };
  region();
  BlockProfile blocks;
  const ExactCounts counts = ExactCounter::Count(region, &blocks);
  ASSERT_TRUE(counts.complete) << counts.incomplete_reason;
  EXPECT_EQ(InstructionsOf(blocks), counts.instructions);
  std::erase_if(blocks.blocks, [](const ExecutedBlock& block) { return block.openmp; });
  EXPECT_EQ(InstructionsOf(blocks), counts.instructions - counts.openmp_instructions);
  EXPECT_EQ(ReadExecutedCode(blocks).executed, counts.instructions - counts.openmp_instructions);
}

// Thread k of three executes 20,000 (k + 1) instructions in a loop of its own.
TEST(ExactBlocks, EachThreadHasItsInstructions) {
  auto region = [] {
#pragma omp parallel num_threads(3)
    {
      long n = 10000 * (omp_get_thread_num() + 1);
      asm volatile("1: dec %0\n jnz 1b" : "+r"(n) : : "cc");
    }
  };
  region();
  ExactCounts counts = ExactCounter::Count(region);
  ASSERT_TRUE(counts.complete) << counts.incomplete_reason;
  std::vector<std::uint64_t>& of_thread = counts.thread_instructions;
  ASSERT_EQ(of_thread.size(), 3U);
  std::sort(of_thread.begin(), of_thread.end());
  for (std::uint64_t k = 0; k < 3; ++k) {
    EXPECT_GE(of_thread[k], 20000 * (k + 1));
    EXPECT_LE(of_thread[k], 20000 * (k + 1) + 200);
  }
}

// libgomp ends 62 threads after each smaller team. A process may have 1,024 counted threads.
TEST(ExactBlocks, TeamsThatGrowAndShrinkAreCounted) {
  for (int round = 0; round < 20; ++round) {
    for (const int threads : {64, 2}) {
      std::atomic<int> arrived = 0;
      auto region = [&] {
#pragma omp parallel num_threads(threads)
        ++arrived;
      };
      const ExactCounts counts = ExactCounter::Count(region);
      ASSERT_TRUE(counts.complete) << counts.incomplete_reason << " in round " << round;
      ASSERT_EQ(arrived, threads);
      ASSERT_EQ(counts.threads, threads);
    }
  }
}

// A loop whose iterations are known: its block, and both directions of its branch.
TEST(ExactBlocks, FindALoopWithItsIterations) {
  constexpr long kIterations = 1000;
  auto region = [] {
    long n = kIterations;
    asm volatile("1: vfmadd231ps %%ymm1, %%ymm1, %%ymm0\n dec %0\n jnz 1b"
                 : "+r"(n)
                 :
                 : "xmm0", "xmm1", "cc");
  };
  if (__builtin_cpu_supports("fma") == 0) GTEST_SKIP() << "this CPU has no FMA";
  BlockProfile blocks;
  ExactCounter::Count(region, &blocks);
  const ExecutedCode code = ReadExecutedCode(blocks);
  const std::vector<Loop> loops = FindLoops(code.graph);
  ASSERT_EQ(loops.size(), 1U);
  EXPECT_EQ(loops[0].iterations, 1000U);
  EXPECT_EQ(loops[0].entries, 1U);
  EXPECT_EQ(loops[0].instructions, 3000U);
  EXPECT_EQ(code.flops, 16000U);
  const ExecutedInstruction& branch =
      code.instructions[code.graph.blocks[loops[0].header].first + 2];
  EXPECT_EQ(branch.code.flow, Flow::kConditional);
  EXPECT_EQ(branch.taken, 999U);
}

// The operations of a product of tiles depend on the tiles' configuration: with 16 rows of 64
// bytes, 16 x 16 sums of 32 products each.
TEST(ExactBlocks, HaveTheFlopsOfTiles) {
  if (!HasIsa(Isa::kAmxBf16)) GTEST_SKIP() << "this CPU has no AMX-BF16";
  struct alignas(64) Configuration {
    std::uint8_t palette = 1, start = 0, reserved[14] = {};
    std::uint16_t row_bytes[16] = {64, 64, 64};
    std::uint8_t rows[16] = {16, 16, 16};
  };
  const Configuration tiles;
  auto region = [&tiles] {
    long n = 10;
    asm volatile(
        ".byte 0xc4, 0xe2, 0x78, 0x49, 0x02\n"                       // ldtilecfg [rdx]
        "1: .byte 0xc4, 0xe2, 0x6a, 0x5c, 0xc1\n dec %0\n jnz 1b\n"  // tdpbf16ps tmm0, tmm1, tmm2
        ".byte 0xc4, 0xe2, 0x78, 0x49, 0xc0"                         // tilerelease
        : "+r"(n)
        : "d"(&tiles)
        : "memory", "cc");
  };
  BlockProfile blocks;
  const ExactCounts counts = ExactCounter::Count(region, &blocks);
  constexpr std::uint64_t kFlops = 10 * 2 * 16 * 16 * 32;
  EXPECT_EQ(counts.amx_bf16_flops, kFlops);
  EXPECT_EQ(ReadExecutedCode(blocks).flops, kFlops);
}

}  // namespace
}  // namespace topdnn

#endif  // __x86_64__
