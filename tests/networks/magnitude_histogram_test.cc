// The clipping limit by relative entropy, compared with values worked out by hand.

#include "networks/quantization/magnitude_histogram.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <vector>

namespace topdnn {
namespace {

TEST(BinsOfLeastEntropyTest, AgreesWithValuesWorkedOutByHand) {
  // Each line has the shares of a candidate's kept bins, and those after the merge into two levels.
  // 4 bins: (6, 2, 1)/9 and (4, 4, 1)/9: 6/9 ln(6/4) + 2/9 ln(2/4) = 0.116.
  // 3 bins: (6, 2, 1)/9 and (6, 1.5, 1.5)/9: 2/9 ln(2/1.5) + 1/9 ln(1/1.5) = 0.0189.
  // 2 bins: (6, 3)/9 and (6, 2)/8: 6/9 ln(0.889) + 3/9 ln(1.333) = 0.0174.
  EXPECT_EQ(BinsOfLeastEntropy(std::vector<double>{6, 2, 1, 0}, 2), 2U);
  // 4 bins: both groups are even: 0. 3 bins: 0.038. 2 bins: 0.020.
  EXPECT_EQ(BinsOfLeastEntropy(std::vector<double>{4, 4, 1, 1}, 2), 4U);
  // 4 bins: (1, 1, 6, 2)/10 and (1, 1, 4, 4)/10: 0.105. 3 bins: (1, 1, 8)/10 and
  // (1, 3.5, 3.5)/8: 0.313. 2 bins: (1, 9)/10 and (1, 1)/2: 0.368.
  EXPECT_EQ(BinsOfLeastEntropy(std::vector<double>{1, 1, 6, 2}, 2), 4U);
  // 4 bins and 3 bins: a group's count stays in its filled bin, so nothing is lost: 0.
  EXPECT_EQ(BinsOfLeastEntropy(std::vector<double>{2, 0, 2, 0}, 2), 4U);
  EXPECT_EQ(BinsOfLeastEntropy(std::vector<double>{3, 5}, 2), 2U);
  EXPECT_THROW(BinsOfLeastEntropy(std::vector<double>{3, 5}, 3), std::invalid_argument);
  EXPECT_THROW(BinsOfLeastEntropy(std::vector<double>{3, 5}, 0), std::invalid_argument);
}

std::vector<double> Normal(std::uint32_t seed, std::size_t n, double scale) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, scale);
  std::vector<double> values(n);
  for (double& value : values) value = normal(random);
  return values;
}

TEST(MagnitudeHistogramTest, KeepsAllOfEvenlySpreadMagnitudes) {
  std::vector<double> values;
  for (int i = 1; i < 100000; ++i) values.push_back((i % 2 == 0 ? 1 : -1) * i / 1e5);
  MagnitudeHistogram histogram;
  histogram.Add(values);
  EXPECT_NEAR(histogram.Limit(127), 1, 2e-3);
}

TEST(MagnitudeHistogramTest, CutsARareLargeElement) {
  std::vector<double> values = Normal(1, 100000, 1);
  values.push_back(100);
  MagnitudeHistogram histogram;
  histogram.Add(values);
  // At a limit of 100, one of the 127 steps would be 0.8 standard deviations.
  EXPECT_LT(histogram.Limit(127), 10);
  EXPECT_GT(histogram.Limit(127), 2);
  EXPECT_GE(histogram.Limit(255), histogram.Limit(127));
}

TEST(MagnitudeHistogramTest, DoesNotDependOnOrderScaleOrZeros) {
  const std::vector<double> small = Normal(2, 20000, 0.01), large = Normal(3, 20000, 1);
  MagnitudeHistogram one, other, scaled;
  one.Add(small);
  one.Add(large);
  other.Add(large);
  other.Add(std::vector<double>(50000, 0.0));
  other.Add(small);
  EXPECT_EQ(one.Limit(127), other.Limit(127));
  for (const auto* values : {&small, &large}) {
    std::vector<double> eighths = *values;
    for (double& value : eighths) value /= -8;
    scaled.Add(eighths);
  }
  EXPECT_EQ(scaled.Limit(127), one.Limit(127) / 8);
}

TEST(MagnitudeHistogramTest, NothingHasNoLimit) {
  MagnitudeHistogram histogram;
  histogram.Add(std::vector<double>{0, -0.0});
  EXPECT_EQ(histogram.Limit(255), 0);
}

}  // namespace
}  // namespace topdnn
