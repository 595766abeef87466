#include "harness/statistics/multiple_tests.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace topdnn {

namespace {

// The indices of the p-values, smallest first. None is NaN.
std::vector<std::size_t> Ascending(std::span<const double> p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t i, std::size_t j) { return p[i] < p[j]; });
  return order;
}

}  // namespace

std::vector<double> HolmAdjusted(std::span<const double> p) {
  std::vector<double> adjusted(p.size());
  const std::vector<std::size_t> order = Ascending(p);
  double largest = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto left = static_cast<double>(p.size() - i);
    largest = std::max(largest, std::min(1.0, left * p[order[i]]));
    adjusted[order[i]] = largest;
  }
  return adjusted;
}

}  // namespace topdnn
