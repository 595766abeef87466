// Robust measures of location and spread, in which single outliers do not count, and the parts of a
// series whose samples depend on their neighbours.

#ifndef TOPDNN_HARNESS_STATISTICS_SPREAD_H_
#define TOPDNN_HARNESS_STATISTICS_SPREAD_H_

#include <cstddef>
#include <span>
#include <vector>

namespace topdnn {

// The standard error of the median per that of the mean, for a normal distribution: sqrt(pi / 2).
inline constexpr double kMedianPerMean = 1.2533;

// The median absolute deviation from the median, as the standard deviation of a normal distribution
// with that deviation: 1.4826 MAD. Throws std::invalid_argument for no samples.
double ScaledMad(std::span<const double> samples);

// The least value whose weight, with the weights of all smaller values, reaches half of the sum.
// The weights are not negative, and there are as many as values. Throws std::invalid_argument for
// no values.
double WeightedMedian(std::span<const double> values, std::span<const double> weights);

// The medians of that many parts of the series, of almost equal lengths and in order; the samples
// themselves if there are no more. Neighbouring iterations share the clock rate, the load of other
// programs and the state of the caches, so they are not independent; medians of long parts almost
// are.
std::vector<double> BlockMedians(std::span<const double> samples, std::size_t blocks);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_STATISTICS_SPREAD_H_
