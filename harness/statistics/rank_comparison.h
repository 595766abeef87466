// Whether one group of samples tends to larger values than another, by their order alone: the test
// of Mann, Whitney and Wilcoxon, and its effect size.

#ifndef TOPDNN_HARNESS_STATISTICS_RANK_COMPARISON_H_
#define TOPDNN_HARNESS_STATISTICS_RANK_COMPARISON_H_

#include <optional>
#include <span>

namespace topdnn {

struct RankTest {
  // The number of pairs (a, b) with b > a, plus half the number with b = a.
  double u = 0;
  double p = 1;        // two-sided
  bool exact = false;  // false: by the normal approximation
};

// Mann and Whitney's test of independent samples. Exact below 50 samples a side and without ties
// (the distribution of U by Mann and Whitney's recurrence, 1947); otherwise the normal
// approximation with the corrections for ties and continuity (Lehmann, Nonparametrics, 1.4). Both
// are the rules of R's wilcox.test. Absent without samples on a side, or with a NaN among them.
std::optional<RankTest> MannWhitney(std::span<const double> a, std::span<const double> b);

// Cliff's delta: the share of pairs with b > a minus the share with b < a, from -1 to 1 (Cliff
// 1993). The probability that a sample of b is larger is (1 + delta) / 2, ties counted half. Absent
// as above.
std::optional<double> CliffsDelta(std::span<const double> a, std::span<const double> b);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_STATISTICS_RANK_COMPARISON_H_
