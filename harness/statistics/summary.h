// Robust summary of repeated timings. Quote the median: a disturbance can only make a run longer,
// sometimes by much, so a mean depends more on the neighbours than on the code.

#ifndef TOPDNN_HARNESS_STATISTICS_SUMMARY_H_
#define TOPDNN_HARNESS_STATISTICS_SUMMARY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace topdnn {

struct Summary {
  double median = 0;
  double min = 0;
  double p90 = 0;  // 90th percentile
  std::int64_t n = 0;
};

// Summary of at least one sample, in any order. Percentiles interpolate linearly between the two
// nearest order statistics (Hyndman and Fan 1996, definition 7). Throws std::invalid_argument for
// no samples.
Summary Summarize(std::span<const double> samples);

// The quantile q in [0, 1] of sorted samples, by the same definition.
double QuantileOfSorted(std::span<const double> sorted, double q);

double Median(std::span<const double> samples);

// The same; absent for no samples.
std::optional<Summary> SummaryIfAny(std::span<const double> samples);
std::optional<double> MedianIfAny(std::span<const double> samples);

// At most `most` of the samples, in their order and evenly spaced; all of them if there are no
// more. `most` is at least 1.
std::vector<double> ThinnedEvenly(std::span<const double> samples, std::size_t most);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_STATISTICS_SUMMARY_H_
