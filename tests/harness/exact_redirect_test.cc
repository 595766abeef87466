// Runs code with its operands redirected to L1: it touches no byte of its data, executes the same
// instructions, and keeps what is no data.

#include <gtest/gtest.h>

#include "harness/exact/counter.h"
#include "harness/exact/translated_run.h"

#if defined(__x86_64__)

#include <omp.h>
#include <sys/mman.h>
#include <sys/time.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <vector>

#include "harness/counters/clock.h"
#include "tests/harness/hideable_tensor.h"

namespace topdnn {
namespace {

// What a region gives on its data and redirected, with the data taken away.
struct RedirectedRun {
  LearnedRegion learned;
  ExactCounts redirected;
};

RedirectedRun RunHidden(AnyRegion region, const std::vector<const HideableTensor*>& tensors) {
  std::vector<std::span<const std::byte>> memory;
  for (const HideableTensor* tensor : tensors) memory.push_back(tensor->bytes());
  region();
  RedirectedRun seen;
  seen.learned = LearnOperands(CallRegion, &region, memory);
  for (const HideableTensor* tensor : tensors) tensor->Hide();
  seen.redirected = CountRedirected(CallRegion, &region, seen.learned.redirection);
  const std::string missed =
      RunUncounted(CallRegion, &region, &seen.learned.redirection, BestClock().now);
  for (const HideableTensor* tensor : tensors) tensor->Show();
  EXPECT_EQ(missed, "");
  EXPECT_TRUE(seen.learned.counts.complete) << seen.learned.counts.incomplete_reason;
  EXPECT_TRUE(seen.redirected.complete) << seen.redirected.incomplete_reason;
  EXPECT_EQ(seen.redirected.instructions, seen.learned.counts.instructions);
  EXPECT_EQ(seen.redirected.load_bytes, seen.learned.counts.load_bytes);
  EXPECT_EQ(seen.redirected.store_bytes, seen.learned.counts.store_bytes);
  return seen;
}

// The places within a line of the redirected operands, by instruction.
std::vector<std::uint32_t> PlacesInLine(const RedirectedRun& seen) {
  std::vector<std::uint32_t> places;
  for (const RedirectedOperand& o : seen.learned.redirection.operands) {
    places.push_back(o.place % kLineBytes);
  }
  return places;
}

TEST(ExactRedirect, LoadsAndStoresGoElsewhere) {
  SKIP_WITHOUT_THE_COUNTER();
  const HideableTensor from;
  const HideableTensor to;
  const auto loop = [&] {
    const float* a = from.floats();
    float* b = to.floats() + 2;
    asm volatile(
        "mov $100, %%ecx\n"
        "1: movups 4(%0), %%xmm0\n"
        "addps 64(%0), %%xmm0\n"
        "mulss 12(%0), %%xmm0\n"
        "movups %%xmm0, (%1)\n"
        "movss %%xmm0, 20(%1)\n"
        "add $64, %0\n add $64, %1\n dec %%ecx\n jnz 1b\n"
        : "+r"(a), "+r"(b)
        :
        : "xmm0", "rcx", "cc", "memory");
  };
  loop();
  std::vector<float> before(to.floats(), to.floats() + kTensorPage);
  const RedirectedRun seen = RunHidden(loop, {&from, &to});
  EXPECT_EQ(PlacesInLine(seen), (std::vector<std::uint32_t>{4, 0, 12, 8, 28}));
  EXPECT_EQ(seen.learned.redirection.redirected_bytes, 100 * (16 + 16 + 4 + 16 + 4));
  EXPECT_EQ(seen.learned.redirection.kept_bytes, 0);
  EXPECT_EQ(std::memcmp(before.data(), to.floats(), before.size() * sizeof(float)), 0);
}

TEST(ExactRedirect, LoadsAndStoresShareNoLineAndNoLowAddressBits) {
  SKIP_WITHOUT_THE_COUNTER();
  const HideableTensor data;
  const RedirectedRun seen = RunHidden(
      [&] {
        asm volatile("movups (%0), %%xmm0\n movups %%xmm0, (%0)\n"
                     :
                     : "r"(data.floats())
                     : "xmm0", "memory");
      },
      {&data});
  const auto& operands = seen.learned.redirection.operands;
  ASSERT_EQ(operands.size(), 2U);
  EXPECT_LT(operands[0].place % kTensorPage, kTensorPage / 2);
  EXPECT_GE(operands[1].place % kTensorPage, kTensorPage / 2);
}

// A redirected load reads the values that were at its last address.
TEST(ExactRedirect, LinesHoldTheRegionsValues) {
  SKIP_WITHOUT_THE_COUNTER();
  const HideableTensor data;
  std::uint32_t seen_value = 0;
  RunHidden(
      [&] {
        float value = 0;
        asm volatile("movss 8(%1), %0\n" : "=x"(value) : "r"(data.floats()) : "memory");
        std::memcpy(&seen_value, &value, sizeof value);
      },
      {&data});
  float value = 0;
  std::memcpy(&value, &seen_value, sizeof value);
  EXPECT_EQ(value, 3.0F);
}

TEST(ExactRedirect, WideVectorsBroadcastsAndMasks) {
  SKIP_WITHOUT_THE_COUNTER();
  SKIP_WITHOUT("avx2");
  SKIP_WITHOUT("fma");
  const HideableTensor from;
  const HideableTensor to;
  const RedirectedRun seen = RunHidden(
      [&] {
        asm volatile(
            "vpcmpeqd %%ymm3, %%ymm3, %%ymm3\n"
            "vmovups (%0), %%ymm0\n"
            "vbroadcastss 100(%0), %%ymm1\n"
            "vfmadd231ps 64(%0,%2,4), %%ymm0, %%ymm1\n"
            "vmaskmovps 128(%0), %%ymm3, %%ymm2\n"
            "vinsertf128 $1, 512(%0), %%ymm2, %%ymm2\n"
            "vmaskmovps %%ymm1, %%ymm3, 64(%1)\n"
            "vextractf128 $1, %%ymm1, 16(%1)\n"
            "vpextrd $2, %%xmm1, 24(%1)\n"
            "vmovntps %%ymm1, 256(%1)\n"
            "vmovntdq %%ymm1, 288(%1)\n"
            "prefetcht0 4096(%0)\n"
            "vzeroupper\n"
            :
            : "r"(from.floats()), "r"(to.floats()), "r"(std::uint64_t{3})
            : "xmm0", "xmm1", "xmm2", "xmm3", "memory");
      },
      {&from, &to});
  EXPECT_EQ(PlacesInLine(seen), (std::vector<std::uint32_t>{0, 36, 12, 0, 0, 0, 16, 24, 0, 32, 0}));
  EXPECT_EQ(to.floats()[64], to.floats()[64]);
}

TEST(ExactRedirect, Avx512) {
  SKIP_WITHOUT_THE_COUNTER();
  SKIP_WITHOUT("avx512f");
  const HideableTensor from;
  const HideableTensor to;
  const RedirectedRun seen = RunHidden(
      [&] {
        asm volatile(
            "mov $0x0f0f, %%eax\n kmovw %%eax, %%k1\n"
            "vmovups 4096(%0), %%zmm16\n"
            "vmovups 64(%0), %%zmm17%{%%k1%}\n"
            "vaddps 68(%0)%{1to16%}, %%zmm16, %%zmm17\n"
            "vfmadd231ps 128(%0,%2,8), %%zmm16, %%zmm17\n"
            "vpcmpd $1, 192(%0), %%zmm16, %%k2\n"
            "vmovups %%zmm17, 64(%1)%{%%k1%}\n"
            "vmovntps %%zmm17, 128(%1)\n"
            "vmovntdq %%zmm17, 192(%1)\n"
            "vmovntpd %%zmm17, 256(%1)\n"
            "vzeroupper\n"
            :
            : "r"(from.floats()), "r"(to.floats()), "r"(std::uint64_t{8})
            : "eax", "xmm0", "memory");
      },
      {&from, &to});
  EXPECT_EQ(PlacesInLine(seen), (std::vector<std::uint32_t>{0, 0, 4, 0, 0, 0, 0, 0, 0}));
}

// 16 bytes at every 16 bytes from 8: one in four crosses. Each of 4 instructions has its place.
TEST(ExactRedirect, KeepsTheShareOfLineCrossings) {
  SKIP_WITHOUT_THE_COUNTER();
  const HideableTensor data;
  const RedirectedRun four = RunHidden(
      [&] {
        const float* a = data.floats() + 2;
        asm volatile(
            "mov $100, %%ecx\n"
            "1: movups (%0), %%xmm0\n movups 16(%0), %%xmm0\n"
            "movups 32(%0), %%xmm0\n movups 48(%0), %%xmm0\n"
            "add $64, %0\n dec %%ecx\n jnz 1b\n"
            : "+r"(a)
            :
            : "xmm0", "rcx", "cc", "memory");
      },
      {&data});
  EXPECT_EQ(four.learned.redirection.crossings, 100);
  EXPECT_EQ(four.learned.redirection.redirected_crossings, 100);
  // One instruction that crosses in one of four executions, and then one in three of four: the
  // second one's place crosses, and makes up for the first one's.
  const RedirectedRun two = RunHidden(
      [&] {
        const float* a = data.floats() + 2;
        const float* b = data.floats() + 12;
        asm volatile(
            "mov $100, %%ecx\n"
            "1: movups (%0), %%xmm0\n add $16, %0\n dec %%ecx\n jnz 1b\n"
            "mov $100, %%ecx\n"
            "2: movups 10(%1), %%xmm0\n add $64, %1\n dec %%ecx\n jnz 2b\n"
            : "+r"(a), "+r"(b)
            :
            : "xmm0", "rcx", "cc", "memory");
      },
      {&data});
  EXPECT_EQ(two.learned.redirection.crossings, 125);
  EXPECT_EQ(two.learned.redirection.redirected_crossings, 100);
  // The last place that does not cross, and the first one that does.
  const RedirectedRun edge = RunHidden(
      [&] {
        const float* a = data.floats();
        asm volatile(
            "mov $100, %%ecx\n"
            "1: movups 48(%0), %%xmm0\n movups 49(%0), %%xmm0\n"
            "add $64, %0\n dec %%ecx\n jnz 1b\n"
            : "+r"(a)
            :
            : "xmm0", "rcx", "cc", "memory");
      },
      {&data});
  EXPECT_EQ(edge.learned.redirection.crossings, 100);
}

// The stack, constants next to the code, and pointers in vector registers are not data: the result
// depends on them.
TEST(ExactRedirect, KeepsStackConstantsAndPointers) {
  SKIP_WITHOUT_THE_COUNTER();
  const HideableTensor data;
  static std::array<std::uint64_t, 2> targets;  // what the pointers point to
  const HideableTensor pointers;
  std::uint64_t sum = 0;
  const auto region = [&] {
    // two pointers copied by one 16-byte move, and a pair of floats on the stack
    static std::uint64_t* slots[2];
    slots[0] = targets.data();
    slots[1] = targets.data() + 1;
    targets = {40, 2};
    std::uint64_t first = 0;
    std::uint64_t second = 0;
    asm volatile(
        "movups (%2), %%xmm1\n"
        "movaps %%xmm1, %%xmm2\n psrldq $8, %%xmm2\n"
        "movq %%xmm1, %%rax\n movq %%xmm2, %%rdx\n"
        "movups %%xmm1, -64(%%rsp)\n"
        "movq -64(%%rsp), %%xmm3\n movq %%xmm3, %%rax\n"
        "mov (%%rax), %0\n mov (%%rdx), %1\n"
        "movups (%3), %%xmm0\n"
        : "=&r"(first), "=&r"(second)
        : "r"(slots), "r"(data.floats())
        : "rax", "rdx", "xmm0", "xmm1", "xmm2", "xmm3", "memory");
    sum = first + second;
  };
  const RedirectedRun seen = RunHidden(region, {&data});
  EXPECT_EQ(sum, 42U);
  EXPECT_EQ(seen.learned.redirection.operands.size(), 1U);
}

// In memory that may hold anything, wide vectors are redirected, but not those that hold pointers.
TEST(ExactRedirect, ScratchMemory) {
  SKIP_WITHOUT_THE_COUNTER();
  SKIP_WITHOUT("avx2");
  const HideableTensor scratch;
  const HideableTensor with_pointers;
  // Downwards: the check for pointers looks at the last operand.
  const auto run = [](const HideableTensor& memory, std::size_t vectors) {
    std::vector<std::span<const std::byte>> no_tensors;
    AnyRegion region = [&] {
      for (std::size_t k = vectors; k-- > 0;) {
        asm volatile("vmovups (%0), %%ymm0\n movups 32(%0), %%xmm1\n vzeroupper\n"
                     :
                     : "r"(memory.floats() + 8 * k)
                     : "xmm0", "xmm1", "memory");
      }
    };
    return LearnOperands(CallRegion, &region, no_tensors).redirection.operands.size();
  };
  constexpr std::size_t kPages = 2 * kTensorPage / 32;
  EXPECT_EQ(run(scratch, kPages), 1U);
  EXPECT_EQ(run(scratch, 10), 0U);  // a small structure
  void* pointer = scratch.floats();
  std::memcpy(with_pointers.floats() + 4, static_cast<const void*>(&pointer), sizeof pointer);
  EXPECT_EQ(run(with_pointers, kPages), 0U);
}

// What cannot be redirected is said, in bytes.
TEST(ExactRedirect, GathersIntegersAndStringsAreKept) {
  SKIP_WITHOUT_THE_COUNTER();
  SKIP_WITHOUT("avx2");
  const HideableTensor data;
  std::vector<std::span<const std::byte>> tensors = {data.bytes()};
  AnyRegion gather = [&] {
    asm volatile(
        "vpxor %%xmm1, %%xmm1, %%xmm1\n vpcmpeqd %%ymm2, %%ymm2, %%ymm2\n"
        "vgatherdps %%ymm2, 8(%0,%%ymm1,4), %%ymm0\n vzeroupper\n"
        :
        : "r"(data.floats())
        : "xmm0", "xmm1", "xmm2", "memory");
  };
  EXPECT_EQ(LearnOperands(CallRegion, &gather, tensors).redirection.kept_bytes, 32);
  AnyRegion integers = [&] {
    asm volatile("mov (%0), %%rax\n mov %%eax, 64(%0)\n" : : "r"(data.floats()) : "rax", "memory");
  };
  EXPECT_EQ(LearnOperands(CallRegion, &integers, tensors).redirection.kept_bytes, 8 + 4);
  AnyRegion string = [&] {
    void* to = data.floats();
    std::uint64_t n = 100;
    asm volatile("rep stosb\n" : "+D"(to), "+c"(n) : "a"(0) : "memory");
  };
  EXPECT_EQ(LearnOperands(CallRegion, &string, tensors).redirection.kept_bytes, 100);
  AnyRegion on_stack = [] {
    char buffer[200];
    void* to = buffer;
    std::uint64_t n = sizeof buffer;
    asm volatile("rep stosb\n" : "+D"(to), "+c"(n) : "a"(0) : "memory");
  };
  EXPECT_EQ(LearnOperands(CallRegion, &on_stack, tensors).redirection.kept_bytes, 0);
}

// Recording changes no result and no count.
TEST(ExactRedirect, RecordingIsTransparent) {
  SKIP_WITHOUT_THE_COUNTER();
  const HideableTensor data;
  float sum = 0;
  AnyRegion region = [&] {
    sum = 0;
    for (int k = 0; k < 1000; ++k) sum += data.floats()[k] * 0.5F;
  };
  region();
  const float expected = sum;
  const ExactCounts counts = ExactCounter::Count(CallRegion, &region);
  const std::vector<std::span<const std::byte>> tensors = {data.bytes()};
  const LearnedRegion learned = LearnOperands(CallRegion, &region, tensors);
  EXPECT_EQ(sum, expected);
  EXPECT_EQ(learned.counts.instructions, counts.instructions);
  EXPECT_EQ(learned.counts.flops(), counts.flops());
  sum = 0;
  EXPECT_EQ(RunUncounted(CallRegion, &region, nullptr, BestClock().now), "");
  EXPECT_EQ(sum, expected);
}

// Every thread of a team is redirected, also with its own data.
// Each load is between an instruction that sets a flag and one that uses it: all six flags, in both
// values. Signals arrive while a recording keeps the flags elsewhere.
TEST(ExactRedirect, RecordingKeepsTheFlagsAlsoUnderSignals) {
  SKIP_WITHOUT_THE_COUNTER();
  constexpr int kRounds = 200'000;
  constexpr std::uint64_t kStatus = 0x8d5;  // OF, SF, ZF, AF, PF, CF
  static volatile std::uint64_t word = 1;
  std::uint64_t with_ones = 0, with_zeros = 0;  // rounds whose flags were right
  AnyRegion region = [&] {
    for (int k = 0; k < kRounds; ++k) {
      std::uint64_t ones = kStatus, zeros = 0;
      asm volatile(
          "sub $128, %%rsp\n"
          "pushq %0\n popfq\n mov (%2), %%rdx\n movl (%2), %%edx\n pushfq\n popq %0\n"
          "pushq %1\n popfq\n mov (%2), %%rdx\n movl (%2), %%edx\n pushfq\n popq %1\n"
          "add $128, %%rsp\n"
          : "+r"(ones), "+r"(zeros)
          : "r"(&word)
          : "rdx", "cc", "memory");
      with_ones += (ones & kStatus) == kStatus ? 1 : 0;
      with_zeros += (zeros & kStatus) == 0 ? 1 : 0;
    }
  };
  struct sigaction handler = {}, before = {};
  handler.sa_handler = [](int) { word = word + 1; };
  handler.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &handler, &before);
  itimerval often = {}, never = {};
  often.it_interval.tv_usec = often.it_value.tv_usec = 50;
  setitimer(ITIMER_REAL, &often, nullptr);
  const LearnedRegion learned = LearnOperands(CallRegion, &region, {});
  setitimer(ITIMER_REAL, &never, nullptr);
  sigaction(SIGALRM, &before, nullptr);
  EXPECT_TRUE(learned.counts.complete) << learned.counts.incomplete_reason;
  EXPECT_EQ(with_ones, kRounds);
  EXPECT_EQ(with_zeros, kRounds);
  EXPECT_GT(word, 1U);  // signals came
}

TEST(ExactRedirect, Teams) {
  SKIP_WITHOUT_THE_COUNTER();
  const HideableTensor data;
  std::array<std::uint64_t, 2> waited = {};
  const auto region = [&] {
#pragma omp parallel num_threads(2)
    {
      const float* a = data.floats() + 1024 * omp_get_thread_num();
      float* b = data.floats() + 2048 + 1024 * omp_get_thread_num();
      asm volatile(
          "mov $60, %%ecx\n"
          "1: movups (%0), %%xmm0\n movups %%xmm0, (%1)\n"
          "add $64, %0\n add $64, %1\n dec %%ecx\n jnz 1b\n"
          : "+r"(a), "+r"(b)
          :
          : "xmm0", "rcx", "cc", "memory");
    }
    waited[1] = WaitedForTeams();
  };
  AnyRegion once = region;
  once();
  const std::vector<std::span<const std::byte>> tensors = {data.bytes()};
  const LearnedRegion learned = LearnOperands(CallRegion, &once, tensors);
  EXPECT_EQ(learned.counts.threads, 2);
  EXPECT_EQ(learned.teams, 1U);
  EXPECT_EQ(learned.redirection.redirected_bytes, 2 * 60 * 32);
  data.Hide();
  const ExactCounts redirected = CountRedirected(CallRegion, &once, learned.redirection);
  EXPECT_EQ(RunUncounted(CallRegion, &once, &learned.redirection, BestClock().now), "");
  data.Show();
  EXPECT_EQ(redirected.threads, 2);
  EXPECT_EQ(redirected.instructions - redirected.openmp_instructions,
            learned.counts.instructions - learned.counts.openmp_instructions);
}

// A thread that works twice as long as the other: what the shorter one waits is no part of the
// share that is timed, what the team's start and end take is waiting.
TEST(ExactRedirect, WaitingIsWhatExceedsTheLongestShare) {
  SKIP_WITHOUT_THE_COUNTER();
  const TickClock clock = BestClock();
  std::uint64_t whole = 0;
  std::uint64_t waited = 0;
  AnyRegion region = [&] {
    const std::uint64_t start = clock.now();
#pragma omp parallel num_threads(2)
    {
      const std::uint64_t until = clock.now();
      const double seconds = omp_get_thread_num() == 0 ? 1e-3 : 3e-3;
      while (clock.SecondsBetween(until, clock.now()).value_or(1) < seconds) {
      }
    }
    whole = clock.now() - start;
    waited = WaitedForTeams();
  };
  region();
  EXPECT_EQ(RunUncounted(CallRegion, &region, nullptr, clock.now), "");
  ASSERT_GT(whole, waited);
  EXPECT_GE(static_cast<double>(whole - waited) * clock.seconds_per_tick, 3e-3 * 0.999);
}

}  // namespace
}  // namespace topdnn

#endif  // __x86_64__
