#include "harness/statistics/steady.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/statistics/summary.h"

namespace topdnn {

namespace {

// Standard deviation of a normal distribution per median absolute deviation: 1 / Phi^-1(3/4).
constexpr double kSigmaPerMad = 1.4826;
// Standard error of the median per that of the mean, for a normal distribution: sqrt(pi / 2).
constexpr double kMedianPerMean = 1.2533;

}  // namespace

double StandardErrorOfMedian(std::span<const double> samples) {
  const double median = Median(samples);
  std::vector<double> deviations;
  deviations.reserve(samples.size());
  for (const double sample : samples) deviations.push_back(std::abs(sample - median));
  return kMedianPerMean * kSigmaPerMad * Median(deviations) /
         std::sqrt(static_cast<double>(samples.size()));
}

bool IsSteady(std::span<const double> samples, const SteadyRule& rule) {
  if (rule.window == 0 || samples.size() < 2 * rule.window) return false;
  const auto later = samples.last(rule.window);
  const auto earlier = samples.last(2 * rule.window).first(rule.window);
  const double median = Median(later);
  const double error = std::hypot(StandardErrorOfMedian(earlier), StandardErrorOfMedian(later));
  const double tolerance = std::max(rule.relative_floor * median, rule.standard_errors * error);
  return std::abs(Median(earlier) - median) <= tolerance;
}

std::optional<std::size_t> SteadyAfter(std::span<const double> samples, const SteadyRule& rule) {
  for (std::size_t n = 2 * rule.window; n <= samples.size(); ++n) {
    if (IsSteady(samples.first(n), rule)) return n;
  }
  return std::nullopt;
}

}  // namespace topdnn
