#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "harness/statistics/rank_comparison.h"

namespace topdnn {
namespace {

// R's help page of wilcox.test: Hollander and Wolfe (1973), page 69 f., permeability constants of
// the chorioamnion. R prints W = 35, p-value = 0.1272 for the alternative "greater".
TEST(MannWhitneyTest, ExactAsRForPermeabilityConstants) {
  const std::vector<double> x = {0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46};
  const std::vector<double> y = {1.15, 0.88, 0.90, 0.74, 1.21};
  const auto test = MannWhitney(y, x);
  ASSERT_TRUE(test);
  EXPECT_TRUE(test->exact);
  EXPECT_DOUBLE_EQ(test->u, 35);
  EXPECT_NEAR(test->p, 2 * 0.1272, 1e-4);
  // 35 of 50 pairs are larger, and 15 are smaller.
  EXPECT_DOUBLE_EQ(CliffsDelta(y, x).value(), 0.4);
  EXPECT_DOUBLE_EQ(CliffsDelta(x, y).value(), -0.4);
}

// SciPy's help page of scipy.stats.mannwhitneyu: ages at the diagnosis of diabetes; U1 = 17 and the
// exact p = 0.1111.
TEST(MannWhitneyTest, ExactAsSciPyForAges) {
  const std::vector<double> males = {19, 22, 16, 29, 24};
  const std::vector<double> females = {20, 11, 17, 12};
  const auto test = MannWhitney(females, males);
  ASSERT_TRUE(test);
  EXPECT_DOUBLE_EQ(test->u, 17);
  EXPECT_NEAR(test->p, 0.111111111111, 1e-10);
}

// R's help page of wilcox.test: the ozone of May and August in its data set airquality. R prints
// W = 127.5, p-value = 0.0001208, by the normal approximation because of ties.
TEST(MannWhitneyTest, ApproximateWithTiesAsRForOzone) {
  const std::vector<double> may = {41, 36, 12, 18, 28, 23, 19, 8, 7,  16, 11, 14,  18,
                                   14, 34, 6,  30, 11, 1,  11, 4, 32, 23, 45, 115, 37};
  const std::vector<double> august = {39, 9,  16, 78, 35, 66, 122, 89,  110, 44, 28,  65, 22,
                                      59, 23, 31, 44, 21, 9,  45,  168, 73,  76, 118, 84, 85};
  const auto test = MannWhitney(august, may);
  ASSERT_TRUE(test);
  EXPECT_FALSE(test->exact);
  EXPECT_DOUBLE_EQ(test->u, 127.5);
  EXPECT_NEAR(test->p, 0.0001208, 5e-8);
}

// The exact probabilities by counting all orders, without the recurrence.
TEST(MannWhitneyTest, ExactAsTheCountOfAllOrders) {
  const int n = 4;
  const int m = 5;
  for (int mask = 0; mask < 1 << (n + m); ++mask) {
    if (__builtin_popcount(static_cast<unsigned>(mask)) != m) continue;
    const auto u_of = [](int of) {
      double u = 0;
      int below = 0;
      for (int i = 0; i < n + m; ++i) {
        if ((of >> i & 1) != 0) u += below;
        if ((of >> i & 1) == 0) ++below;
      }
      return u;
    };
    std::vector<double> a, b;
    for (int i = 0; i < n + m; ++i) ((mask >> i & 1) != 0 ? b : a).push_back(i);
    const double own = u_of(mask);
    const double smaller = std::min(own, n * m - own);
    double below = 0;
    double all = 0;
    for (int other = 0; other < 1 << (n + m); ++other) {
      if (__builtin_popcount(static_cast<unsigned>(other)) != m) continue;
      ++all;
      if (u_of(other) <= smaller) ++below;
    }
    const auto test = MannWhitney(a, b);
    ASSERT_TRUE(test);
    EXPECT_DOUBLE_EQ(test->u, own);
    EXPECT_NEAR(test->p, std::min(1.0, 2 * below / all), 1e-12) << mask;
  }
}

TEST(MannWhitneyTest, EqualSamplesShowNothing) {
  const std::vector<double> same(60, 1.0);
  EXPECT_DOUBLE_EQ(MannWhitney(same, same)->p, 1);
  EXPECT_DOUBLE_EQ(CliffsDelta(same, same).value(), 0);
}

TEST(MannWhitneyTest, AbsentWithoutSamplesOrWithANan) {
  const std::vector<double> one = {1};
  const std::vector<double> nan = {std::numeric_limits<double>::quiet_NaN()};
  EXPECT_FALSE(MannWhitney({}, one));
  EXPECT_FALSE(MannWhitney(one, {}));
  EXPECT_FALSE(MannWhitney(one, nan));
  EXPECT_FALSE(CliffsDelta(nan, one));
}

}  // namespace
}  // namespace topdnn
