#include "networks/quantization/magnitude_histogram.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace topdnn {

namespace {

// Twice the 2048 bins of Migacz (see the header), because the range is up to twice the largest
// magnitude.
constexpr std::size_t kBins = 4096;

// The relative entropy of the first `kept` bins, as BinsOfLeastEntropy describes it. `beyond`: the
// sum of the other bins. Infinite if a bin has elements and its merged group has none; NaN if all
// elements are beyond. Neither is below any other entropy.
double RelativeEntropy(std::span<const double> counts, double beyond, std::size_t levels) {
  const std::size_t kept = counts.size();
  const double inside = std::accumulate(counts.begin(), counts.end(), 0.0);
  const auto clipped = [&](std::size_t bin) {
    return counts[bin] + (bin + 1 == kept ? beyond : 0.0);
  };
  const std::size_t bins_of_group = kept / levels;
  double entropy = 0;
  for (std::size_t group = 0; group < levels; ++group) {
    const std::size_t first = group * bins_of_group;
    const std::size_t end = group + 1 == levels ? kept : first + bins_of_group;
    double sum = 0, filled = 0;
    for (std::size_t bin = first; bin < end; ++bin) {
      sum += counts[bin];
      filled += clipped(bin) > 0 ? 1 : 0;
    }
    const double merged = sum / filled / inside;
    for (std::size_t bin = first; bin < end; ++bin) {
      if (clipped(bin) == 0) continue;
      if (merged == 0) return std::numeric_limits<double>::infinity();
      const double share = clipped(bin) / (inside + beyond);
      entropy += share * std::log(share / merged);
    }
  }
  return entropy;
}

}  // namespace

std::size_t BinsOfLeastEntropy(std::span<const double> counts, std::size_t levels) {
  if (levels < 1 || counts.size() < levels) {
    throw std::invalid_argument("a histogram needs at least as many bins as there are levels");
  }
  double beyond = 0;
  double least = std::numeric_limits<double>::infinity();
  std::size_t best = counts.size();
  for (std::size_t kept = counts.size(); kept >= levels; --kept) {
    const double entropy = RelativeEntropy(counts.first(kept), beyond, levels);
    if (entropy < least) {
      least = entropy;
      best = kept;
    }
    beyond += counts[kept - 1];
  }
  return best;
}

void MagnitudeHistogram::Add(std::span<const double> values) {
  double most = 0;
  for (const double value : values) most = std::max(most, std::abs(value));
  if (most == 0) return;
  if (range_ == 0) {
    counts_.assign(kBins, 0.0);
    range_ = std::exp2(std::ilogb(most) + 1);
  }
  // Doubles the range and merges pairs of bins. The result does not depend on the order of the
  // values.
  for (; range_ <= most; range_ *= 2) {
    for (std::size_t bin = 0; bin < kBins / 2; ++bin) {
      counts_[bin] = counts_[2 * bin] + counts_[2 * bin + 1];
    }
    std::fill(counts_.begin() + kBins / 2, counts_.end(), 0.0);
  }
  const double bins_per_unit = static_cast<double>(kBins) / range_;
  for (const double value : values) {
    if (value != 0) ++counts_[static_cast<std::size_t>(std::abs(value) * bins_per_unit)];
  }
}

double MagnitudeHistogram::Limit(std::size_t levels) const {
  if (range_ == 0) return 0;
  std::size_t used = kBins;
  while (counts_[used - 1] == 0) --used;
  used = std::max(used, levels);
  const std::size_t kept = BinsOfLeastEntropy(std::span(counts_).first(used), levels);
  return static_cast<double>(kept) / static_cast<double>(kBins) * range_;
}

}  // namespace topdnn
