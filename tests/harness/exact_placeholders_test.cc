// Runs code without its work on vectors: what is left executes the same instructions.

#include <gtest/gtest.h>

#include "harness/exact/translated_run.h"

#if defined(__x86_64__)

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "harness/counters/clock.h"
#include "tests/harness/hideable_tensor.h"

namespace topdnn {
namespace {

// Runs with placeholders while the data are taken away.
void RunWithPlaceholders(AnyRegion region, const HideableTensor& data) {
  const std::vector<std::span<const std::byte>> tensors = {data.bytes()};
  region();
  LearnedRegion learned = LearnOperands(CallRegion, &region, tensors);
  learned.redirection.placeholders = true;
  data.Hide();
  const ExactCounts counts = CountRedirected(CallRegion, &region, learned.redirection);
  EXPECT_EQ(RunUncounted(CallRegion, &region, &learned.redirection, BestClock().now), "");
  data.Show();
  EXPECT_EQ(counts.instructions, learned.counts.instructions);
  EXPECT_EQ(counts.flops(), learned.counts.flops());
}

// Loads, stores and arithmetic do nothing; moves, logic, integers and conversions do.
TEST(ExactPlaceholders, LeaveRegistersAsTheyAre) {
  SKIP_WITHOUT_THE_COUNTER();
  const HideableTensor data;
  alignas(16) std::array<float, 4> low{};
  alignas(16) std::array<float, 4> high{};
  alignas(16) std::array<std::uint32_t, 4> logic{};
  std::uint32_t integer = 0;
  const auto region = [&] {
    asm volatile(
        "mov $7, %%eax\n movd %%eax, %%xmm1\n pshufd $0, %%xmm1, %%xmm1\n"
        "cvtdq2ps %%xmm1, %%xmm2\n movaps %%xmm2, %%xmm9\n"
        "addps %%xmm2, %%xmm2\n mulps %%xmm9, %%xmm9\n movups (%4), %%xmm9\n"
        "addps 16(%4), %%xmm2\n movups %%xmm2, 32(%4)\n movups %%xmm9, 4096(%4)\n"
        "pxor %%xmm3, %%xmm3\n paddd %%xmm1, %%xmm3\n paddd %%xmm1, %%xmm3\n"
        "movaps %%xmm2, %0\n movaps %%xmm9, %1\n movaps %%xmm3, %2\n"
        "cvttss2si %%xmm2, %3\n"
        : "=m"(low), "=m"(high), "=m"(logic), "=r"(integer)
        : "r"(data.floats())
        : "eax", "xmm1", "xmm2", "xmm3", "xmm9", "memory");
  };
  RunWithPlaceholders(region, data);
  for (int k = 0; k < 4; ++k) {
    EXPECT_EQ(low[k], 7.0F);
    EXPECT_EQ(high[k], 7.0F);
    EXPECT_EQ(logic[k], 14U);
  }
  EXPECT_EQ(integer, 7U);
}

// Each register and width keeps its value. A comparison with memory still sets its mask.
TEST(ExactPlaceholders, OfWideVectors) {
  SKIP_WITHOUT_THE_COUNTER();
  SKIP_WITHOUT("avx512f");
  const HideableTensor data;
  alignas(64) std::array<std::array<float, 16>, 6> seen{};
  std::uint32_t mask = 0;
  const auto region = [&] {
    asm volatile(
        "mov $0x40e00000, %%eax\n vpbroadcastd %%eax, %%zmm5\n"
        "mov $0x40f00000, %%eax\n vpbroadcastd %%eax, %%zmm13\n"
        "mov $0x41000000, %%eax\n vpbroadcastd %%eax, %%zmm21\n"
        "mov $0x41080000, %%eax\n vpbroadcastd %%eax, %%zmm29\n"
        "mov $0x41100000, %%eax\n vpbroadcastd %%eax, %%ymm6\n"
        "mov $0x41180000, %%eax\n vpbroadcastd %%eax, %%ymm14\n"
        "vaddps %%zmm5, %%zmm5, %%zmm5\n vmulps 64(%0)%{1to16%}, %%zmm13, %%zmm13\n"
        "vfmadd231ps 4096(%0), %%zmm21, %%zmm21\n vmaxps %%zmm29, %%zmm5, %%zmm29\n"
        "vaddps %%ymm6, %%ymm6, %%ymm6\n vmovups 96(%0), %%ymm14\n"
        "vmovups %%zmm5, 64(%0)\n vmovups %%zmm29, 128(%0)\n vmovups %%ymm14, 512(%0)\n"
        "kxorw %%k1, %%k1, %%k1\n vpcmpd $7, 192(%0), %%zmm5, %%k1\n"  // always true
        "kmovw %%k1, %%eax\n mov %%eax, (%2)\n"
        "vmovups %%zmm5, (%1)\n vmovups %%zmm13, 64(%1)\n vmovups %%zmm21, 128(%1)\n"
        "vmovups %%zmm29, 192(%1)\n vmovups %%zmm6, 256(%1)\n vmovups %%zmm14, 320(%1)\n"
        "vzeroupper\n"
        :
        : "r"(data.floats()), "r"(seen.data()), "r"(&mask)
        : "eax", "xmm5", "xmm6", "xmm13", "xmm14", "memory");
  };
  RunWithPlaceholders(region, data);
  constexpr std::array<float, 6> kValues = {7, 7.5F, 8, 8.5F, 9, 9.5F};
  for (std::size_t r = 0; r < seen.size(); ++r) {
    for (std::size_t k = 0; k < 16; ++k) {
      EXPECT_EQ(seen[r][k], r >= 4 && k >= 8 ? 0.0F : kValues[r]) << r << " " << k;
    }
  }
  EXPECT_EQ(mask, 0xffffU);
}

}  // namespace
}  // namespace topdnn

#endif  // __x86_64__
