// What a predictor can learn of a branch, and what threads may wait with: code whose patterns are
// known.

#include <gtest/gtest.h>

#include "harness/exact/counter.h"

#if defined(__x86_64__)

#include <omp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>
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
  for (const auto& [taken, not_taken] :
       {std::pair{1, 1}, {1, 6}, {6, 1}, {3, 5}, {1, 30}, {30, 1}, {2, 400}}) {
    const ExecutedBranch branch = CountBranch(Pattern(500, taken, not_taken));
    EXPECT_EQ(branch.taken, 500U * static_cast<unsigned>(taken));
    EXPECT_EQ(branch.not_taken, 500U * static_cast<unsigned>(not_taken));
    EXPECT_GE(branch.pairs, 499U) << taken << " taken, " << not_taken << " not";
    EXPECT_LE(branch.pairs, 500U);
    EXPECT_GE(branch.irregular, 1U);
    EXPECT_LE(branch.irregular, 3U) << taken << " taken, " << not_taken << " not";
  }
}

std::uint64_t MissedBranches(const std::vector<std::uint8_t>& values) {
  auto region = [&values] { BranchOnEach(values); };
  return ExactCounter::Count(region).missed_branches;
}

// With the loop's branch, a pattern of 31 executions repeats after 62 branches, and one of 33 after
// 66, which is too long to be learned.
TEST(ExactBranches, ALongPatternIsNotLearned) {
  constexpr std::uint64_t kLearned = 3 * kMissesOfPair + kLearningMisses + 1;
  EXPECT_LE(MissedBranches(Pattern(500, 1, 30)), kLearned);
  EXPECT_LE(MissedBranches(Pattern(500, 30, 1)), kLearned);
  for (const std::uint64_t missed :
       {MissedBranches(Pattern(500, 1, 32)), MissedBranches(Pattern(500, 32, 1))}) {
    EXPECT_GE(missed, 500U - 1);
    EXPECT_LE(missed, 500U + 1);
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
void RunShortLoops() {
  long outer = 2000, inner = 0;
  asm volatile("1: mov $5, %1\n 2: dec %1\n jnz 2b\n dec %0\n jnz 1b"
               : "+r"(outer), "=&r"(inner)
               :
               : "cc");
}

TEST(ExactBranches, AShortLoopIsLearned) {
  auto region = [] { RunShortLoops(); };
  const ExactCounts counts = ExactCounter::Count(region);
  EXPECT_EQ(counts.minority_branches, 2001U);
  EXPECT_GE(counts.missed_branches, 2U);
  EXPECT_LE(counts.missed_branches, 1U + 3 * kMissesOfPair + kLearningMisses);
}

// 10,000 bits of a random number (xorshift64): a ninth of the pairs repeat the lengths of the last
// one by chance, and each other one may be missed four times, so the rarer direction counts. They
// spoil what is known of the short loops, too.
TEST(ExactBranches, BesideRandomBitsNoLoopIsLearned) {
  std::vector<std::uint8_t> values;
  std::uint64_t state = 88172645463325252U;
  for (int k = 0; k < 10000; ++k) {
    state ^= state << 13U;
    state ^= state >> 7U;
    state ^= state << 17U;
    values.push_back(static_cast<std::uint8_t>(state >> 20U & 1U));
  }
  const auto ones = static_cast<std::uint64_t>(std::count(values.begin(), values.end(), 1));
  const std::uint64_t rarer = std::min(ones, 10000 - ones);
  EXPECT_EQ(MissedBranches(values), rarer + 1);
  auto region = [&values] {
    BranchOnEach(values);
    RunShortLoops();
  };
  EXPECT_EQ(ExactCounter::Count(region).missed_branches, rarer + 1 + 2001);
}

// A branch that depends only on the way to it: its block is entered by a jump, where it is taken,
// and from the block before it, where it is not.
TEST(ExactBranches, ABranchThatDependsOnTheWayToItIsNotMissed) {
  auto region = [] {
    long left = 4000;
    asm volatile(
        "1: test $1, %0\n mov $0, %%eax\n jz 2f\n mov $1, %%eax\n"
        "2: test %%eax, %%eax\n jz 3f\n nop\n"
        "3: dec %0\n jnz 1b"
        : "+r"(left)
        :
        : "eax", "cc");
  };
  BlockProfile blocks;
  const ExactCounts counts = ExactCounter::Count(region, &blocks);
  const auto even = [](const ExecutedBranch& branch) {
    return branch.taken == 2000 && branch.not_taken == 2000;
  };
  EXPECT_EQ(std::count_if(blocks.branches.begin(), blocks.branches.end(), even), 2);
  EXPECT_GE(counts.minority_branches, 4000U);
  EXPECT_LE(counts.missed_branches, 3 * kMissesOfPair + kLearningMisses + 1);
}

// Executes a branch that is not taken at OF and SF, with CF and ZF clear, after none, one and one
// taken execution: so no pair of runs ends, one does, and one that equals it.
TEST(ExactBranches, TheProgramsRegistersAndFlagsStay) {
  struct Seen {
    std::uint64_t a, c, d;
    std::uint8_t overflow, carry, zero;
  };
  Seen seen[6] = {};
  Seen* next = seen;
  auto region = [&] {
    long left = 6;
    asm volatile(
        "1: mov $1, %%al\n test $1, %%dil\n jnz 2f\n mov $0x7f, %%al\n"
        "2: add $1, %%al\n"  // 0x80 sets OF and SF
        "mov $11, %%rax\n mov $12, %%rcx\n mov $13, %%rdx\n"
        "jns 3f\n seto 24(%0)\n setc 25(%0)\n setz 26(%0)\n"
        "mov %%rax, (%0)\n mov %%rcx, 8(%0)\n mov %%rdx, 16(%0)\n add $32, %0\n"
        "3: dec %1\n jnz 1b"
        : "+r"(next), "+D"(left)
        :
        : "rax", "rcx", "rdx", "cc", "memory");
  };
  static_assert(sizeof(Seen) == 32);
  for (Seen& each : seen) each.zero = 1;
  ExactCounter::Count(region);
  ASSERT_EQ(next, seen + 3);
  for (int k = 0; k < 3; ++k) {
    EXPECT_EQ(seen[k].a, 11U);
    EXPECT_EQ(seen[k].c, 12U);
    EXPECT_EQ(seen[k].d, 13U);
    EXPECT_EQ(seen[k].overflow, 1);
    EXPECT_EQ(seen[k].carry, 0);
    EXPECT_EQ(seen[k].zero, 0);
  }
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
  EXPECT_GE(SynchronizingInstructions([] { syscall(SYS_getppid); }), 1U);
}

}  // namespace
}  // namespace topdnn

#endif  // __x86_64__
