// What a predictor can learn of a branch, and what threads may wait with: code whose patterns are
// known.

#include <gtest/gtest.h>

#include "harness/exact/counter.h"

#if defined(__x86_64__)

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

namespace topdnn {
namespace {

// Executes a branch for each value, taken for those that are not 0. (Both the loop and the branch
// are written out, so that the compiler adds none.)
void BranchOnEach(const std::vector<std::uint8_t>& values) {
  const std::uint8_t* value = values.data();
  auto left = static_cast<long>(values.size());
  asm volatile("1: inc %0\n cmpb $0, -1(%0)\n jne 2f\n nop\n 2: dec %1\n jnz 1b"
               : "+r"(value), "+r"(left)
               :
               : "cc", "memory");
}

// Of the branch that is executed for each value; the loop's own is always taken but once.
ExecutedBranch CountBranch(const std::vector<std::uint8_t>& values) {
  BlockProfile blocks;
  auto region = [&values] { BranchOnEach(values); };
  const ExactCounts counts = ExactCounter::Count(region, &blocks);
  EXPECT_TRUE(counts.complete) << counts.incomplete_reason;
  const auto found = std::find_if(
      blocks.branches.begin(), blocks.branches.end(), [&values](const ExecutedBranch& branch) {
        return branch.taken + branch.not_taken == values.size() && branch.not_taken != 1;
      });
  return found == blocks.branches.end() ? ExecutedBranch{} : *found;
}

std::vector<std::uint8_t> Pattern(int repeats, int taken, int not_taken) {
  std::vector<std::uint8_t> values;
  for (int k = 0; k < repeats; ++k) {
    values.insert(values.end(), static_cast<std::size_t>(taken), 1);
    values.insert(values.end(), static_cast<std::size_t>(not_taken), 0);
  }
  return values;
}

// The block of the branch is entered by the loop's branch, but for the first time: so the first
// pair of runs has one execution fewer, and nothing comes before it.
TEST(ExactBranches, ARepeatedPairOfRunsIsIrregularOnlyAtFirst) {
  struct Case {
    int taken, not_taken;
  };
  for (const auto& [taken, not_taken] : {Case{1, 1}, {1, 6}, {6, 1}, {3, 5}, {1, 30}, {30, 1}}) {
    const ExecutedBranch branch = CountBranch(Pattern(500, taken, not_taken));
    EXPECT_EQ(branch.taken, 500U * static_cast<unsigned>(taken));
    EXPECT_EQ(branch.not_taken, 500U * static_cast<unsigned>(not_taken));
    EXPECT_GE(branch.irregular, 1U);
    EXPECT_LE(branch.irregular, 3U) << taken << " taken, " << not_taken << " not";
  }
}

TEST(ExactBranches, ALongPatternIsIrregularEachTime) {
  for (const auto& [taken, not_taken] : {std::pair{1, 31}, {31, 1}, {20, 12}, {2, 400}}) {
    const ExecutedBranch branch = CountBranch(Pattern(500, taken, not_taken));
    EXPECT_GE(branch.irregular, 498U) << taken << " taken, " << not_taken << " not";
    EXPECT_LE(branch.irregular, 500U);
  }
}

// Lengths 2 and 3 in turn: each pair differs from the one before.
TEST(ExactBranches, AnotherLengthIsIrregular) {
  std::vector<std::uint8_t> values;
  for (int k = 0; k < 400; ++k) {
    const std::vector<std::uint8_t> pair = Pattern(1, 2 + k % 2, 1);
    values.insert(values.end(), pair.begin(), pair.end());
  }
  const ExecutedBranch taken_differ = CountBranch(values);
  EXPECT_GE(taken_differ.irregular, 398U);
  EXPECT_LE(taken_differ.irregular, 400U);
  for (std::uint8_t& value : values) value = value == 0 ? 1 : 0;
  const ExecutedBranch not_taken_differ = CountBranch(values);
  EXPECT_GE(not_taken_differ.irregular, 398U);
  EXPECT_LE(not_taken_differ.irregular, 400U);
}

// Two nested loops, 5 times 2,000: the best static prediction misses each end of the inner one.
TEST(ExactBranches, AShortLoopIsLearned) {
  auto region = [] {
    long outer = 2000, inner = 0;
    asm volatile("1: mov $5, %1\n 2: dec %1\n jnz 2b\n dec %0\n jnz 1b"
                 : "+r"(outer), "=&r"(inner)
                 :
                 : "cc");
  };
  const ExactCounts counts = ExactCounter::Count(region);
  EXPECT_EQ(counts.minority_branches, 2001U);
  EXPECT_LE(counts.missed_branches, 1U + 3 * kMissesOfPair + kLearningMisses);
}

// Bits of a random number (xorshift64): a quarter of the pairs repeat the lengths of the last one
// by chance, and each other one may be missed four times, so the rarer direction counts.
TEST(ExactBranches, RandomBitsAreMissedAsOftenAsTheRarerDirection) {
  std::vector<std::uint8_t> values;
  std::uint64_t state = 88172645463325252U;
  for (int k = 0; k < 10000; ++k) {
    state ^= state << 13U;
    state ^= state >> 7U;
    state ^= state << 17U;
    values.push_back(static_cast<std::uint8_t>(state >> 20U & 1U));
  }
  const auto ones = static_cast<std::uint64_t>(std::count(values.begin(), values.end(), 1));
  auto region = [&values] { BranchOnEach(values); };
  const ExactCounts counts = ExactCounter::Count(region);
  EXPECT_EQ(counts.missed_branches, std::min(ones, 10000 - ones) + 1);
}

// Flags, rax, rcx and rdx after a branch that was not taken are the program's.
TEST(ExactBranches, TheProgramsRegistersAndFlagsStay) {
  std::uint64_t a = 1, c = 2, d = 3;
  std::uint8_t carry = 0, overflow = 0, zero = 1;
  auto region = [&] {
    asm volatile(
        "mov $0x7f, %%al\n add $1, %%al\n"  // sets OF and SF, clears CF and ZF
        "mov $11, %%rax\n mov $12, %%rcx\n mov $13, %%rdx\n"
        "jz 1f\n seto %3\n setc %4\n setz %5\n 1:"
        : "=&a"(a), "=&c"(c), "=&d"(d), "+m"(overflow), "+m"(carry), "+m"(zero)
        :
        : "cc");
  };
  ExactCounter::Count(region);
  EXPECT_EQ(a, 11U);
  EXPECT_EQ(c, 12U);
  EXPECT_EQ(d, 13U);
  EXPECT_EQ(overflow, 1);
  EXPECT_EQ(carry, 0);
  EXPECT_EQ(zero, 0);
}

std::uint64_t SynchronizingInstructions(const std::function<void()>& share) {
  auto region = [&share] {
#pragma omp parallel num_threads(2)
    share();
  };
  region();
  const ExactCounts counts = ExactCounter::Count(region);
  EXPECT_TRUE(counts.complete) << counts.incomplete_reason;
  EXPECT_EQ(counts.threads, 2);
  return counts.synchronizing_instructions;
}

// The shares that only ask for their number have nothing to wait with.
TEST(ExactBranches, SharesWithoutABarrierHaveNothingToWaitWith) {
  static std::atomic<int> sum{0};
  static long numbers[2];
  const auto ask = [] { numbers[omp_get_thread_num() % 2] = omp_get_num_threads(); };
  const auto meet = [] {
#pragma omp barrier
  };
  const auto exchange = [] {
    long one = 1;
    asm volatile("xchg %0, %1" : "+r"(one), "+m"(numbers[0]));
  };
  EXPECT_EQ(SynchronizingInstructions(ask), 0U);
  EXPECT_GE(SynchronizingInstructions(meet), 1U);
  EXPECT_GE(SynchronizingInstructions(exchange), 1U);
  EXPECT_GE(SynchronizingInstructions([] { ++sum; }), 1U);
  EXPECT_GE(SynchronizingInstructions([] { asm volatile("pause"); }), 1U);
}

}  // namespace
}  // namespace topdnn

#endif  // __x86_64__
