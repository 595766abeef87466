#include "harness/statistics/spread.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "harness/statistics/summary.h"

namespace topdnn {

namespace {

// Standard deviation of a normal distribution per median absolute deviation: 1 / Phi^-1(3/4).
constexpr double kSigmaPerMad = 1.4826;

}  // namespace

double ScaledMad(std::span<const double> samples) {
  const double median = Median(samples);
  std::vector<double> deviations;
  deviations.reserve(samples.size());
  for (const double sample : samples) deviations.push_back(std::abs(sample - median));
  return kSigmaPerMad * Median(deviations);
}

double WeightedMedian(std::span<const double> values, std::span<const double> weights) {
  if (values.empty() || values.size() != weights.size()) {
    throw std::invalid_argument("a weighted median needs as many weights as values");
  }
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t i, std::size_t j) { return values[i] < values[j]; });
  const double half = std::accumulate(weights.begin(), weights.end(), 0.0) / 2;
  double below = 0;
  for (const std::size_t i : order) {
    below += weights[i];
    if (below >= half) return values[i];
  }
  return values[order.back()];
}

std::vector<double> BlockMedians(std::span<const double> samples, std::size_t blocks) {
  if (samples.size() <= blocks) return {samples.begin(), samples.end()};
  std::vector<double> medians;
  medians.reserve(blocks);
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::size_t begin = i * samples.size() / blocks;
    const std::size_t end = (i + 1) * samples.size() / blocks;
    medians.push_back(Median(samples.subspan(begin, end - begin)));
  }
  return medians;
}

}  // namespace topdnn
