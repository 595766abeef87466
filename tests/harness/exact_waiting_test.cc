// Threads that wait for each other: shares of known length, timed by the CPU time of each thread,
// so that other work on the machine does not change them.

#include <gtest/gtest.h>

#include "harness/exact/counter.h"
#include "harness/exact/translated_run.h"
#include "harness/experiments/core_times.h"

#if defined(__x86_64__)

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <functional>
#include <vector>

namespace topdnn {
namespace {

using Region = std::function<void()>;
void Call(void* region) { (*static_cast<Region*>(region))(); }

std::uint64_t OwnCpuTime() noexcept {
  timespec t = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1000000000U + static_cast<std::uint64_t>(t.tv_nsec);
}

void WorkFor(std::int64_t steps) {
  for (std::int64_t k = 0; k < steps; ++k) asm volatile("" : "+r"(k));
}

// The calling thread works `factor` times as long as the other one, and then alone as long again.
TEST(ExactWaiting, AnImbalanceOfKnownSize) {
  if (const Availability can = ExactCounter::Probe(); !can.works) GTEST_SKIP() << can.reason;
  // (long enough that translating libgomp's code, about 2 ms, does not matter)
  constexpr std::int64_t kSteps = 50'000'000;
  for (const std::int64_t factor : {1, 4}) {
    const double f = static_cast<double>(factor);
    // In units of kSteps: the shares take 1 + f, the team f, all 2 f. A neighbour slows one thread
    // more than the other, or one of the halves, so the try with the smallest error counts.
    constexpr int kTries = 20;
    double error = 1e9, team = 0;
    for (int k = 0; k < kTries && error > 0.05; ++k) {
      TeamTicks ticks;
      std::uint64_t whole = 0;
      Region region = [&] {
        const std::uint64_t start = OwnCpuTime();
#pragma omp parallel num_threads(2)
        WorkFor(omp_get_thread_num() == 0 ? factor * kSteps : kSteps);
        WorkFor(factor * kSteps);
        whole = OwnCpuTime() - start;
        ticks = TimeInTeams();
      };
      region();
      ASSERT_EQ(RunUncounted(Call, &region, nullptr, OwnCpuTime), "");
      const double ratio = static_cast<double>(ticks.shares) / static_cast<double>(ticks.teams);
      const double half = static_cast<double>(ticks.teams) / static_cast<double>(whole);
      const double of_try = std::max({std::abs(ratio * f / (1 + f) - 1), 0.5 - half, half - 0.67});
      if (of_try >= error) continue;
      error = of_try;
      team = half;
    }
    EXPECT_LT(error, 0.15);
    // Half of the time, or up to two thirds where both CPUs are threads of one core: the team's
    // threads then slow each other down.
    EXPECT_GT(team, 0.4);
    EXPECT_LT(team, 0.72);
  }
}

TEST(WaitingShare, LeavesOutWhatTranslationCosts) {
  // 100 us, of which a thread waits 30 in the mean; following the teams takes 10 of both.
  std::vector<CoreRound> rounds(6, {.translated = 100e-6, .idle = 30e-6});
  rounds[0].idle = 34e-6;
  const std::optional<Interval> share = WaitingShare(rounds, {.whole = 10e-6});
  ASSERT_TRUE(share);
  // 20 and 24 of 90, each moved by 1 point and half of 10 of 90.
  EXPECT_NEAR(share->low, 20.0 / 90 - 0.01 - 5.0 / 90, 1e-9);
  EXPECT_NEAR(share->high, 24.0 / 90 + 0.01 + 5.0 / 90, 1e-9);
  rounds.resize(5);
  EXPECT_FALSE(WaitingShare(rounds, {}));
}

}  // namespace
}  // namespace topdnn

#endif  // __x86_64__
