#include "harness/statistics/empirical_null.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "harness/statistics/spread.h"
#include "harness/statistics/summary.h"

namespace topdnn {

namespace {

// Quantiles of |Z| of the standard normal distribution.
struct HalfNormal {
  double q;
  double quantile;
};
using HalfNormals = std::array<HalfNormal, 2>;
constexpr HalfNormals kOfLonger = {{{0.5, 0.67449}, {0.8, 1.28155}}};
constexpr HalfNormals kOfShorter = {{{0.5, 0.67449}, {0.9, 1.64485}}};

struct Deviation {
  double size = 0;   // |log ratio - common|
  double error = 0;  // within the runs
  double time = 0;
};

// The largest ratio of a quantile of the standardised deviations to that of a normal distribution.
double Excess(std::span<const Deviation> deviations, const HalfNormals& quantiles,
              const EmpiricalNull& null) {
  std::vector<double> scores;
  scores.reserve(deviations.size());
  for (const Deviation& own : deviations) {
    const double error = std::hypot(own.error, null.SpreadOf(own.time));
    // (zero over zero: a stage without any difference)
    scores.push_back(own.size == 0 ? 0 : own.size / error);
  }
  std::sort(scores.begin(), scores.end());
  double excess = 0;
  for (const HalfNormal& normal : quantiles) {
    excess = std::max(excess, QuantileOfSorted(scores, normal.q) / normal.quantile);
  }
  return excess;
}

// Sets one part of the spread to the least value without excess.
void Fit(std::span<const Deviation> deviations, const HalfNormals& quantiles,
         double EmpiricalNull::*part, double most, EmpiricalNull& null) {
  null.*part = 0;
  if (Excess(deviations, quantiles, null) <= 1) return;
  double low = 0;
  double high = most;
  constexpr int kHalvings = 60;
  for (int i = 0; i < kHalvings; ++i) {
    null.*part = (low + high) / 2;
    (Excess(deviations, quantiles, null) > 1 ? low : high) = null.*part;
  }
  null.*part = high;
}

// Each weight is at most a sixth of the sum of the limited weights.
std::vector<double> LimitedWeights(std::span<const double> weights) {
  std::vector<double> limited(weights.begin(), weights.end());
  constexpr int kRounds = 50;  // the limit converges by a constant factor a round
  for (int round = 0; round < kRounds; ++round) {
    const double limit = std::accumulate(limited.begin(), limited.end(), 0.0) / kLeastStagesForNull;
    for (double& weight : limited) weight = std::min(weight, limit);
  }
  return limited;
}

}  // namespace

double EmpiricalNull::SpreadOf(double time) const { return std::hypot(relative, seconds / time); }

std::optional<EmpiricalNull> EstimateNull(std::span<const double> log_ratios,
                                          std::span<const double> errors,
                                          std::span<const double> times) {
  if (log_ratios.size() < std::size_t{kLeastStagesForNull}) return std::nullopt;
  EmpiricalNull null{.common = WeightedMedian(log_ratios, LimitedWeights(times))};
  std::vector<Deviation> deviations;
  for (std::size_t i = 0; i < log_ratios.size(); ++i) {
    deviations.push_back({std::abs(log_ratios[i] - null.common), errors[i], times[i]});
  }
  std::stable_sort(deviations.begin(), deviations.end(),
                   [](const Deviation& x, const Deviation& y) { return x.time > y.time; });
  // No logarithm of a ratio is as large, and no part in seconds is larger than this times the
  // longest time.
  constexpr double kMost = 1e3;
  const std::span<const Deviation> all(deviations);
  if (all.size() < std::size_t{2 * kLeastStagesForNull}) {
    Fit(all, kOfLonger, &EmpiricalNull::relative, kMost, null);
    return null;
  }
  const auto longer = all.first(all.size() / 2);
  const auto shorter = all.subspan(all.size() / 2);
  constexpr int kRounds = 10;
  for (int round = 0; round < kRounds; ++round) {
    Fit(longer, kOfLonger, &EmpiricalNull::relative, kMost, null);
    Fit(shorter, kOfShorter, &EmpiricalNull::seconds, kMost * all.front().time, null);
  }
  return null;
}

}  // namespace topdnn
