#include <gtest/gtest.h>

#include <array>
#include <stdexcept>
#include <vector>

#include "harness/statistics/steady.h"
#include "harness/statistics/summary.h"

namespace topdnn {
namespace {

TEST(SummaryTest, AgreesWithHandValues) {
  const std::vector<double> samples = {5, 1, 4, 2, 3, 6, 10, 8, 9, 7};
  const Summary summary = Summarize(samples);
  EXPECT_DOUBLE_EQ(summary.median, 5.5);
  EXPECT_DOUBLE_EQ(summary.min, 1);
  EXPECT_DOUBLE_EQ(summary.p90, 9.1);  // place 0.9 * 9 = 8.1 between 9 and 10
  EXPECT_EQ(summary.n, 10);
  EXPECT_DOUBLE_EQ(Median(std::array{3.0, 1.0, 2.0}), 2);
}

TEST(SummaryTest, OneSampleIsEveryQuantile) {
  const Summary summary = Summarize(std::array{7.0});
  EXPECT_EQ(summary.median, 7);
  EXPECT_EQ(summary.p90, 7);
  EXPECT_EQ(summary.n, 1);
}

TEST(SummaryTest, RefusesNoSamplesAndQuantilesOutside) {
  EXPECT_THROW(Summarize({}), std::invalid_argument);
  EXPECT_THROW(Median({}), std::invalid_argument);
  EXPECT_THROW(QuantileOfSorted(std::array{1.0}, 1.5), std::invalid_argument);
  EXPECT_THROW(QuantileOfSorted({}, 0.5), std::invalid_argument);
}

TEST(SteadyTest, StandardErrorByHand) {
  // median 3, deviations 2 1 0 1 2: MAD 1
  EXPECT_NEAR(StandardErrorOfMedian(std::array{1.0, 2.0, 3.0, 4.0, 5.0}),
              1.2533 * 1.4826 / 2.2360680, 1e-6);
}

TEST(SteadyTest, ConstantSeriesIsSteadyAfterTwoWindows) {
  const std::vector<double> flat(40, 2.0);
  EXPECT_EQ(SteadyAfter(flat), 12u);
  EXPECT_FALSE(IsSteady(std::vector<double>(11, 2.0)));
}

TEST(SteadyTest, ATrendIsNeverSteadyWhateverItsSlope) {
  for (const double slope : {0.05, 1.0, 100.0}) {
    std::vector<double> rising;
    rising.reserve(40);
    for (int i = 0; i < 40; ++i) rising.push_back(1 + slope * i);
    EXPECT_FALSE(SteadyAfter(rising)) << slope;
  }
}

TEST(SteadyTest, ASlowStartIsLeftOut) {
  std::vector<double> series;
  series.reserve(50);
  for (int i = 0; i < 10; ++i) series.push_back(10.0 - 0.9 * i);
  for (int i = 0; i < 40; ++i) series.push_back(1.0 + 0.01 * (i % 3));
  const auto steady = SteadyAfter(series);
  ASSERT_TRUE(steady);
  EXPECT_GT(*steady, 15u);
  EXPECT_LT(*steady, 30u);
}

TEST(SteadyTest, NoiseAndOutliersDoNotKeepASeriesFromBeingSteady) {
  std::vector<double> series;
  series.reserve(50);
  for (int i = 0; i < 40; ++i) series.push_back(1.0 + 0.1 * (i * 7 % 5));
  series[8] = 50;
  const auto steady = SteadyAfter(series);
  ASSERT_TRUE(steady);
  EXPECT_LE(*steady, 20u);
}

TEST(SteadyTest, AStepIsSeenUntilBothWindowsArePastIt) {
  std::vector<double> series(12, 2.0);
  series.insert(series.end(), 6, 1.0);
  EXPECT_FALSE(IsSteady(series));
  series.insert(series.end(), 6, 1.0);
  EXPECT_TRUE(IsSteady(series));
}

}  // namespace
}  // namespace topdnn
