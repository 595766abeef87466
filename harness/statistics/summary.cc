#include "harness/statistics/summary.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

namespace topdnn {

namespace {

std::vector<double> Sorted(std::span<const double> samples) {
  if (samples.empty()) throw std::invalid_argument("a summary needs at least one sample");
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

}  // namespace

double QuantileOfSorted(std::span<const double> sorted, double q) {
  if (sorted.empty()) throw std::invalid_argument("a quantile needs at least one sample");
  if (!(q >= 0 && q <= 1)) throw std::invalid_argument("a quantile lies in [0, 1]");
  const double place = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(place));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double share = place - static_cast<double>(below);
  // Equal neighbours are returned unchanged, which keeps infinities and exact values.
  if (share == 0 || sorted[below] == sorted[above]) return sorted[below];
  return sorted[below] + share * (sorted[above] - sorted[below]);
}

Summary Summarize(std::span<const double> samples) {
  const std::vector<double> sorted = Sorted(samples);
  return Summary{.median = QuantileOfSorted(sorted, 0.5),
                 .min = sorted.front(),
                 .p90 = QuantileOfSorted(sorted, 0.9),
                 .n = static_cast<std::int64_t>(sorted.size())};
}

double Median(std::span<const double> samples) { return QuantileOfSorted(Sorted(samples), 0.5); }

std::optional<Summary> SummaryIfAny(std::span<const double> samples) {
  return samples.empty() ? std::nullopt : std::optional(Summarize(samples));
}

std::optional<double> MedianIfAny(std::span<const double> samples) {
  return samples.empty() ? std::nullopt : std::optional(Median(samples));
}

std::vector<double> ThinnedEvenly(std::span<const double> samples, std::size_t most) {
  if (samples.size() <= most) return {samples.begin(), samples.end()};
  std::vector<double> thinned;
  thinned.reserve(most);
  for (std::size_t i = 0; i < most; ++i) thinned.push_back(samples[i * samples.size() / most]);
  return thinned;
}

}  // namespace topdnn
