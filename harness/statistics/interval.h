// A distribution-free interval for a median: two order statistics.

#ifndef TOPDNN_HARNESS_STATISTICS_INTERVAL_H_
#define TOPDNN_HARNESS_STATISTICS_INTERVAL_H_

#include <cstddef>
#include <optional>
#include <span>

namespace topdnn {

struct Interval {
  double low = 0;
  double high = 0;
};

// The rank k (from 1) for which the k-th smallest and the k-th largest of n independent samples
// contain the median with probability of at least 0.95: the largest k with 1 - 2 P(B <= k - 1) >=
// 0.95, B binomial with n trials of 1/2 (Conover, Practical Nonparametric Statistics, 3.2). Absent
// below 6 samples, where even the smallest and the largest cover less.
std::optional<std::size_t> RankOfMedianInterval(std::size_t n);

// The 95 % interval of the median, rounded outward to whole order statistics: it covers 95 % or
// more. Absent below 6 samples.
std::optional<Interval> MedianInterval(std::span<const double> samples);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_STATISTICS_INTERVAL_H_
