#include "harness/statistics/steady.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "harness/statistics/spread.h"
#include "harness/statistics/summary.h"

namespace topdnn {

double StandardErrorOfMedian(std::span<const double> samples) {
  return kMedianPerMean * ScaledMad(samples) / std::sqrt(static_cast<double>(samples.size()));
}

double TrendOf(std::span<const double> samples) {
  if (samples.size() < 2) return 0;
  std::int64_t rising = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    for (std::size_t j = i + 1; j < samples.size(); ++j) {
      rising += (samples[j] > samples[i] ? 1 : 0) - (samples[j] < samples[i] ? 1 : 0);
    }
  }
  const auto n = static_cast<double>(samples.size());
  return static_cast<double>(rising) / std::sqrt(n * (n - 1) * (2 * n + 5) / 18);
}

bool LooksSteady(std::span<const double> samples, const SteadyRule& rule) {
  const std::size_t third = samples.size() / 3;
  if (third < 2) return false;
  const auto early = samples.first(third);
  const auto late = samples.last(third);
  const double median = Median(late);
  const double change = std::abs(Median(early) - median);
  const double error = std::hypot(StandardErrorOfMedian(early), StandardErrorOfMedian(late));
  if (change + rule.standard_errors * error > rule.tolerance * median) return false;
  return change <= rule.floor * median || std::abs(TrendOf(samples)) <= rule.trend;
}

void SteadyWatch::Add(double sample) {
  samples_.push_back(sample);
  const std::size_t n = samples_.size();
  if (n < next_) return;
  const auto latest = static_cast<std::size_t>(rule_.latest * static_cast<double>(n));
  const std::size_t taken = std::min(n, std::max(rule_.least, latest));
  passed_ = LooksSteady(std::span(samples_).last(taken), rule_) ? passed_ + 1 : 0;
  const auto grown = static_cast<std::size_t>(std::ceil(rule_.growth * static_cast<double>(n)));
  next_ = std::max(n + 1, grown);
}

}  // namespace topdnn
