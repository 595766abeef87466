#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "harness/statistics/empirical_null.h"
#include "harness/statistics/spread.h"
#include "harness/statistics/summary.h"

namespace topdnn {
namespace {

using testing::ElementsAre;

TEST(SpreadTest, MadByHand) {
  // The deviations from the median 3 are 2, 1, 0, 1, 97: their median is 1.
  EXPECT_DOUBLE_EQ(ScaledMad(std::vector<double>{1, 2, 3, 4, 100}), 1.4826);
  EXPECT_THROW(ScaledMad({}), std::invalid_argument);
}

TEST(SpreadTest, WeightedMedianByHand) {
  const std::vector<double> values = {3, 1, 2};
  EXPECT_DOUBLE_EQ(WeightedMedian(values, std::vector<double>{1, 1, 1}), 2);
  EXPECT_DOUBLE_EQ(WeightedMedian(values, std::vector<double>{5, 1, 1}), 3);
  EXPECT_DOUBLE_EQ(WeightedMedian(values, std::vector<double>{1, 5, 1}), 1);
  EXPECT_THROW(WeightedMedian(values, std::vector<double>{1}), std::invalid_argument);
}

TEST(SpreadTest, BlocksKeepTheOrder) {
  const std::vector<double> samples = {1, 2, 30, 4, 5, 60, 7};
  EXPECT_THAT(BlockMedians(samples, 2), ElementsAre(2, 6));
  EXPECT_THAT(BlockMedians(samples, 7), testing::ElementsAreArray(samples));
  EXPECT_THAT(BlockMedians(samples, 20), testing::ElementsAreArray(samples));
}

TEST(SummaryTest, ThinningKeepsTheOrderAndEvenDistances) {
  const std::vector<double> samples = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  EXPECT_THAT(ThinnedEvenly(samples, 5), ElementsAre(0, 2, 4, 6, 8));
  EXPECT_THAT(ThinnedEvenly(samples, 10), testing::ElementsAreArray(samples));
  EXPECT_THAT(ThinnedEvenly(samples, 4), ElementsAre(0, 2, 5, 7));
}

// The ratios have a known normal spread in addition to their known errors.
TEST(EmpiricalNullTest, FindsTheSpreadOfUnchangedStages) {
  std::mt19937 random(1);
  constexpr double kCommon = 0.1;
  constexpr double kRelative = 0.02;
  constexpr double kSeconds = 2e-6;
  constexpr double kError = 0.01;
  double relative = 0;
  double seconds = 0;
  constexpr int kTrials = 200;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::normal_distribution<double> normal;
    std::vector<double> ratios, times;
    for (int i = 0; i < 40; ++i) {
      times.push_back(i % 2 == 0 ? 1e-3 : 1e-5);
      ratios.push_back(kCommon + normal(random) * kRelative + normal(random) * kError +
                       normal(random) * kSeconds / times.back());
    }
    ratios[2] += 1;  // a changed stage
    const std::vector<double> errors(ratios.size(), kError);
    const auto null = EstimateNull(ratios, errors, times);
    ASSERT_TRUE(null);
    EXPECT_NEAR(null->common, kCommon, 0.03);
    relative += null->relative / kTrials;
    seconds += null->seconds / kTrials;
  }
  // The larger of two estimates is above the truth on average, and not by much.
  EXPECT_GT(relative, kRelative);
  EXPECT_LT(relative, 1.5 * kRelative);
  EXPECT_GT(seconds, kSeconds);
  EXPECT_LT(seconds, 1.5 * kSeconds);
}

TEST(EmpiricalNullTest, ErrorsThatExplainTheRatiosLeaveNoSpread) {
  const std::vector<double> ratios = {0.01, -0.01, 0.005, -0.005, 0.002, 0, 0.001};
  const std::vector<double> times(ratios.size(), 1);
  EXPECT_DOUBLE_EQ(EstimateNull(ratios, std::vector<double>(7, 0.1), times)->relative, 0);
  const auto null = EstimateNull(ratios, std::vector<double>(7, 0.0001), times);
  EXPECT_GT(null->relative, 0.003);
  EXPECT_DOUBLE_EQ(null->seconds, 0);
  EXPECT_DOUBLE_EQ(null->SpreadOf(1), null->relative);
}

TEST(EmpiricalNullTest, NeedsStages) {
  const std::vector<double> five(5, 0.0);
  EXPECT_FALSE(EstimateNull(five, five, five));
}

// One stage with 90 % of the time does not become the reference of the others.
TEST(EmpiricalNullTest, ALongStageIsNotItsOwnReference) {
  const std::vector<double> ratios = {0.3, 0, 0.001, -0.001, 0.002, -0.002, 0.0005, 0};
  const std::vector<double> times = {90, 2, 2, 2, 1, 1, 1, 1};
  EXPECT_NEAR(EstimateNull(ratios, std::vector<double>(8, 0.001), times)->common, 0, 0.002);
}

}  // namespace
}  // namespace topdnn
