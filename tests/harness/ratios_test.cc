// Ratios of times under several conditions, worked out by hand.

#include "harness/experiments/ratios.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace topdnn {
namespace {

constexpr double kRounding = 1e-12;

std::vector<double> Six(double value) { return std::vector<double>(6, value); }

// Amdahl: of 8 s on one thread 2 s are serial, so 4 threads take 2 + 6 / 4 = 3.5 s.
TEST(ScalingTest, FindsTheSerialShareOfAmdahlsLaw) {
  const std::vector<int> threads = {1, 2, 4};
  const std::vector<std::vector<double>> seconds = {Six(8), Six(5), Six(3.5)};
  const auto result = ScalingOf(threads, seconds);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->threads, threads);
  EXPECT_EQ(result->seconds, (std::vector<double>{8, 5, 3.5}));
  EXPECT_NEAR(result->speedup.low, 8 / 3.5, kRounding);
  EXPECT_NEAR(result->serial_share.low, 0.25, kRounding);
  EXPECT_NEAR(result->serial_share.high, 0.25, kRounding);
}

// The interval of a median of six is from the smallest to the largest ratio of a round.
TEST(ScalingTest, TheRatioIsTakenWithinARound) {
  const std::vector<int> threads = {1, 2};
  const std::vector<std::vector<double>> seconds = {{4, 4, 4, 4, 4, 40}, {2, 2, 2, 2, 2, 16}};
  const auto result = ScalingOf(threads, seconds);
  ASSERT_TRUE(result);
  EXPECT_NEAR(result->speedup.low, 2, kRounding);
  EXPECT_NEAR(result->speedup.high, 2.5, kRounding);  // 40 / 16: faster than two threads can be
  EXPECT_EQ(result->serial_share.low, 0);
}

TEST(ScalingTest, AllWorkIsSerialIfThreadsDoNotHelp) {
  const std::vector<int> threads = {1, 2};
  const auto result = ScalingOf(threads, std::vector<std::vector<double>>{Six(3), Six(4)});
  ASSERT_TRUE(result);
  EXPECT_NEAR(result->speedup.high, 0.75, kRounding);
  EXPECT_EQ(result->serial_share.low, 1);
}

TEST(ScalingTest, IsAbsentWithoutRatios) {
  const std::vector<int> two = {1, 2};
  const auto of = [](const std::vector<int>& threads, std::vector<std::vector<double>> seconds) {
    return ScalingOf(threads, seconds).has_value();
  };
  EXPECT_TRUE(of(two, {Six(1), Six(1)}));
  EXPECT_FALSE(of(two, {std::vector<double>(5, 1), std::vector<double>(5, 1)}));  // no interval
  EXPECT_FALSE(of(two, {Six(1), Six(0)}));
  EXPECT_FALSE(of(two, {Six(1), std::vector<double>(5, 1)}));
  EXPECT_FALSE(of({2, 4}, {Six(1), Six(1)}));
  EXPECT_FALSE(of({1}, {Six(1)}));
  EXPECT_FALSE(of({1, 1}, {Six(1), Six(1)}));  // one number of threads
}

// Taken 0.5 and 0.9 of the rate, the time is 1.1 and 1.3 times that alone: the slope through (0, 1)
// is (0.5 x 0.1 + 0.9 x 0.3) / (0.25 + 0.81) = 0.32 / 1.06.
TEST(SensitivityTest, TheSlopeIsOfLeastSquares) {
  const std::vector<BesideReaders> levels = {{.taken = Six(0.5), .seconds = Six(2.2)},
                                             {.taken = Six(0.9), .seconds = Six(2.6)}};
  const auto result = SensitivityOf("dram", Six(2), levels);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->resource, "dram");
  EXPECT_NEAR(result->taken, 0.9, kRounding);
  EXPECT_NEAR(result->slowdown.low, 1.3, kRounding);
  EXPECT_NEAR(result->slope.low, 0.32 / 1.06, kRounding);
  EXPECT_NEAR(result->slope.high, 0.32 / 1.06, kRounding);
}

TEST(SensitivityTest, ARoundInWhichNothingWasTakenIsLeftOut) {
  BesideReaders level = {.taken = std::vector<double>(7, 0.5),
                         .seconds = std::vector<double>(7, 3)};
  level.taken[3] = 0;
  level.seconds[3] = 100;
  const auto result = SensitivityOf("llc", std::vector<double>(7, 2), std::vector{level});
  ASSERT_TRUE(result);
  EXPECT_NEAR(result->slowdown.high, 1.5, kRounding);
  EXPECT_NEAR(result->taken, 0.5, kRounding);
}

// Without a time of the readers their rate is infinite, and the slope would be no number.
TEST(SensitivityTest, ARoundWithAnInfiniteRateIsLeftOut) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  BesideReaders level = {.taken = std::vector<double>(7, 0.5),
                         .seconds = std::vector<double>(7, 3)};
  level.taken[3] = kInfinity;
  level.seconds[3] = 100;
  const auto result = SensitivityOf("llc", std::vector<double>(7, 2), std::vector{level});
  ASSERT_TRUE(result);
  EXPECT_NEAR(result->slowdown.high, 1.5, kRounding);
  EXPECT_NEAR(result->slope.low, 1, kRounding);  // 0.5 x 0.5 / 0.25
  EXPECT_NEAR(result->slope.high, 1, kRounding);
  const std::vector<BesideReaders> never = {{.taken = Six(kInfinity), .seconds = Six(1)}};
  EXPECT_FALSE(SensitivityOf("dram", Six(1), never));
}

TEST(SensitivityTest, IsAbsentIfNothingWasTaken) {
  const std::vector<BesideReaders> none = {{.taken = Six(0), .seconds = Six(1)}};
  EXPECT_FALSE(SensitivityOf("dram", Six(1), none));
  EXPECT_FALSE(SensitivityOf("dram", Six(1), {}));
  const std::vector<BesideReaders> few = {
      {.taken = std::vector<double>(5, 1), .seconds = std::vector<double>(5, 1)}};
  EXPECT_FALSE(SensitivityOf("dram", std::vector<double>(5, 1), few));
}

// By hand: the ratios of the rounds are 2, 2, 2, 2, 2 and 3. Six rounds give their range.
TEST(FactorTest, IsTheIntervalOfTheRatiosOfTheRounds) {
  const std::vector<double> others = {1, 2, 3, 4, 5, 6};
  const auto factor = FactorOf(std::vector<double>{2, 4, 6, 8, 10, 18}, others);
  ASSERT_TRUE(factor);
  EXPECT_EQ(factor->low, 2);
  EXPECT_EQ(factor->high, 3);
  EXPECT_FALSE(FactorOf(std::vector<double>{2, 4, 6, 8, 10}, others));
  EXPECT_FALSE(FactorOf(std::vector<double>{2, 4, 0, 8, 10, 18}, others));
  EXPECT_FALSE(FactorOf(std::vector<double>(5, 1.0), std::vector<double>(5, 1.0)));
}

}  // namespace
}  // namespace topdnn
