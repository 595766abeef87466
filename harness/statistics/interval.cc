#include "harness/statistics/interval.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace topdnn {

std::optional<std::size_t> RankOfMedianInterval(std::size_t n) {
  constexpr double kTail = 0.025;
  const auto trials = static_cast<double>(n);
  // Computed with logarithms, because 2^-n underflows a double for n >= 1075.
  double tail = 0;
  std::size_t rank = 0;
  for (std::size_t i = 0; 2 * i < n; ++i) {
    const auto hits = static_cast<double>(i);
    tail += std::exp(std::lgamma(trials + 1) - std::lgamma(hits + 1) -
                     std::lgamma(trials - hits + 1) - trials * std::log(2.0));
    if (tail > kTail) break;
    rank = i + 1;
  }
  return rank == 0 ? std::nullopt : std::optional(rank);
}

std::optional<Interval> MedianInterval(std::span<const double> samples) {
  const std::optional<std::size_t> rank = RankOfMedianInterval(samples.size());
  if (!rank) return std::nullopt;
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  return Interval{.low = sorted[*rank - 1], .high = sorted[sorted.size() - *rank]};
}

}  // namespace topdnn
