#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <stdexcept>
#include <vector>

#include "harness/statistics/summary.h"

namespace topdnn {
namespace {

TEST(SummaryTest, AgreesWithValuesComputedByHand) {
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

TEST(SummaryTest, EqualNeighboursStayAsTheyAre) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(QuantileOfSorted(std::array{1.0, kInfinity, kInfinity}, 0.75), kInfinity);
}

TEST(SummaryTest, RefusesNoSamplesAndInvalidQuantiles) {
  EXPECT_THROW(Summarize({}), std::invalid_argument);
  EXPECT_THROW(Median({}), std::invalid_argument);
  EXPECT_THROW(QuantileOfSorted(std::array{1.0}, 1.5), std::invalid_argument);
  EXPECT_THROW(QuantileOfSorted({}, 0.5), std::invalid_argument);
}

}  // namespace
}  // namespace topdnn
