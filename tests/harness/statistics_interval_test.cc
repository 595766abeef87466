#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <random>
#include <utility>
#include <vector>

#include "harness/statistics/interval.h"

namespace topdnn {
namespace {

TEST(IntervalTest, BelowSixSamplesItIsAbsent) {
  // The smallest and the largest of 5 miss the median with probability 2 / 2^5 = 6.25 %.
  for (std::size_t n = 0; n < 6; ++n) EXPECT_FALSE(RankOfMedianInterval(n)) << n;
  EXPECT_FALSE(MedianInterval(std::array{1.0}));
  EXPECT_FALSE(MedianInterval(std::array{1.0, 2.0, 3.0, 4.0, 5.0}));
}

TEST(IntervalTest, RanksAreThoseOfTheBinomialDistribution) {
  // From sums of binomial coefficients in integers (Python's math.comb).
  for (const auto& [n, rank] : std::vector<std::pair<std::size_t, std::size_t>>{{6, 1},
                                                                                {7, 1},
                                                                                {8, 1},
                                                                                {9, 2},
                                                                                {10, 2},
                                                                                {11, 2},
                                                                                {12, 3},
                                                                                {15, 4},
                                                                                {20, 6},
                                                                                {25, 8},
                                                                                {31, 10},
                                                                                {50, 18},
                                                                                {100, 40},
                                                                                {101, 41},
                                                                                {1000, 469},
                                                                                {5000, 2431}}) {
    EXPECT_EQ(RankOfMedianInterval(n), rank) << n;
  }
}

TEST(IntervalTest, ConsistsOfOrderStatistics) {
  const auto six = MedianInterval(std::array{5.0, 1.0, 9.0, 3.0, 7.0, 2.0});
  ASSERT_TRUE(six);
  EXPECT_EQ(six->low, 1);
  EXPECT_EQ(six->high, 9);
  const auto nine = MedianInterval(std::array{5.0, 1.0, 9.0, 3.0, 7.0, 2.0, 8.0, 4.0, 6.0});
  ASSERT_TRUE(nine);
  EXPECT_EQ(nine->low, 2);
  EXPECT_EQ(nine->high, 8);
}

// A skewed distribution whose median is 1.
TEST(IntervalTest, Covers95PercentOrMore) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> skewed(0, 1);
  constexpr int kRuns = 4000;
  std::printf("%8s %10s\n", "samples", "coverage");
  for (const std::size_t n : {6u, 7u, 8u, 9u, 12u, 15u, 20u, 31u, 50u, 101u}) {
    int covered = 0;
    for (int run = 0; run < kRuns; ++run) {
      std::vector<double> samples(n);
      for (double& sample : samples) sample = skewed(random);
      const auto interval = MedianInterval(samples);
      ASSERT_TRUE(interval);
      covered += interval->low <= 1 && 1 <= interval->high ? 1 : 0;
    }
    const double share = static_cast<double>(covered) / kRuns;
    std::printf("%8zu %8.1f %%\n", n, 100 * share);
    // Minus three standard errors of a share of 95 % in this many runs.
    EXPECT_GE(share, 0.95 - 3 * std::sqrt(0.95 * 0.05 / kRuns)) << n;
    EXPECT_LE(share, 0.995) << n;  // rounded outward by only one rank
  }
}

}  // namespace
}  // namespace topdnn
