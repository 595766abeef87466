#include <gtest/gtest.h>

#include "harness/statistics/distributions.h"
#include "harness/statistics/multiple_tests.h"

namespace topdnn {
namespace {

// The tables of every textbook: the two-sided 5 % and 1 % points of the normal distribution and of
// Student's (Abramowitz and Stegun, table 26.10).
TEST(DistributionsTest, QuantilesAreThoseOfTheTables) {
  EXPECT_NEAR(NormalTwoSided(1.959964), 0.05, 1e-7);
  EXPECT_NEAR(StudentQuantile(0.05, 1), 12.706, 5e-4);
  EXPECT_NEAR(StudentQuantile(0.05, 2), 4.303, 5e-4);
  EXPECT_NEAR(StudentQuantile(0.05, 5), 2.571, 5e-4);
  EXPECT_NEAR(StudentQuantile(0.01, 10), 3.169, 5e-4);
  EXPECT_NEAR(StudentQuantile(0.05, 30), 2.042, 5e-4);
  EXPECT_NEAR(StudentQuantile(0.01, 120), 2.617, 5e-4);
}

TEST(DistributionsTest, TailsAreProbabilities) {
  EXPECT_DOUBLE_EQ(StudentTwoSided(0, 7), 1);
  EXPECT_NEAR(StudentTwoSided(-1, 1), 0.5, 1e-12);  // Cauchy's quartiles are at -1 and 1
  EXPECT_GE(StudentTwoSided(1e6, 9), 0);
  EXPECT_NEAR(StudentTwoSided(1.5, 100000), NormalTwoSided(1.5), 1e-5);
}

// By hand: 3 x 0.01, 2 x 0.02, 1 x 0.04 in ascending order, never below an earlier one.
TEST(MultipleTestsTest, HolmMultipliesByTheTestsLeft) {
  const std::vector<double> p = {0.04, 0.01, 0.02};
  const std::vector<double> adjusted = HolmAdjusted(p);
  EXPECT_DOUBLE_EQ(adjusted[0], 0.04);
  EXPECT_DOUBLE_EQ(adjusted[1], 0.03);
  EXPECT_DOUBLE_EQ(adjusted[2], 0.04);
  EXPECT_DOUBLE_EQ(HolmAdjusted(std::vector<double>{0.7, 0.9})[1], 1);
  EXPECT_TRUE(HolmAdjusted({}).empty());
}

// The 15 p-values of Benjamini and Hochberg (1995), section 3.2 (myocardial infarction): at 5 %
// Holm's correction finds the first 3.
TEST(MultipleTestsTest, AsInAPublishedExample) {
  const std::vector<double> p = {0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                                 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.000};
  const std::vector<double> holm = HolmAdjusted(p);
  for (std::size_t i = 0; i < p.size(); ++i) EXPECT_EQ(holm[i] <= 0.05, i < 3) << i;
}

}  // namespace
}  // namespace topdnn
