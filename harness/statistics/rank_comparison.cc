#include "harness/statistics/rank_comparison.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "harness/statistics/distributions.h"

namespace topdnn {

namespace {

constexpr std::size_t kMostExact = 49;  // samples a side

// The pooled samples' ranks as far as the test needs them.
struct Ranked {
  double u = 0;     // of the second group
  double ties = 0;  // the sum of t^3 - t over the groups of t equal values
};

Ranked Rank(std::span<const double> a, std::span<const double> b) {
  std::vector<double> first(a.begin(), a.end());
  std::vector<double> second(b.begin(), b.end());
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  Ranked ranked;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < first.size() || j < second.size()) {
    const bool from_first = j == second.size() || (i < first.size() && first[i] <= second[j]);
    const double value = from_first ? first[i] : second[j];
    const std::size_t below = i;
    const std::size_t before = j;
    while (i < first.size() && first[i] == value) ++i;
    while (j < second.size() && second[j] == value) ++j;
    const auto of_first = static_cast<double>(i - below);
    const auto of_second = static_cast<double>(j - before);
    ranked.u += of_second * (static_cast<double>(below) + of_first / 2);
    const double equal = of_first + of_second;
    ranked.ties += equal * equal * equal - equal;
  }
  return ranked;
}

// P(U <= u) of n and m samples without ties and without a difference. The number of orders with
// U = u is that of the orders whose largest value is one of the first group, plus that of the
// others: f(n, m, u) = f(n - 1, m, u) + f(n, m - 1, u - n).
double ExactTail(std::size_t n, std::size_t m, double u) {
  const std::size_t most = n * m;
  // orders[j][u] for the current number of the first group
  std::vector<std::vector<double>> orders(m + 1, std::vector<double>(most + 1, 0.0));
  for (auto& of_j : orders) of_j[0] = 1;
  for (std::size_t i = 1; i <= n; ++i) {
    for (std::size_t j = 1; j <= m; ++j) {
      for (std::size_t k = i * j + 1; k-- > 0;) {
        if (k >= i) orders[j][k] += orders[j - 1][k - i];
      }
    }
  }
  double below = 0;
  double all = 0;
  for (std::size_t k = 0; k <= most; ++k) {
    all += orders[m][k];
    if (static_cast<double>(k) <= u) below += orders[m][k];
  }
  return below / all;
}

double NormalP(double n, double m, const Ranked& ranked) {
  const double all = n + m;
  const double variance = n * m / 12 * (all + 1 - ranked.ties / (all * (all - 1)));
  if (!(variance > 0)) return 1;
  constexpr double kContinuity = 0.5;
  const double distance = std::max(0.0, std::abs(ranked.u - n * m / 2) - kContinuity);
  return NormalTwoSided(distance / std::sqrt(variance));
}

bool Usable(std::span<const double> a, std::span<const double> b) {
  const auto nan = [](double value) { return std::isnan(value); };
  return !a.empty() && !b.empty() && std::none_of(a.begin(), a.end(), nan) &&
         std::none_of(b.begin(), b.end(), nan);
}

}  // namespace

std::optional<RankTest> MannWhitney(std::span<const double> a, std::span<const double> b) {
  if (!Usable(a, b)) return std::nullopt;
  const Ranked ranked = Rank(a, b);
  const auto n = static_cast<double>(a.size());
  const auto m = static_cast<double>(b.size());
  RankTest test{.u = ranked.u,
                .exact = ranked.ties == 0 && a.size() <= kMostExact && b.size() <= kMostExact};
  if (test.exact) {
    const double smaller = std::min(ranked.u, n * m - ranked.u);
    test.p = std::min(1.0, 2 * ExactTail(a.size(), b.size(), smaller));
  } else {
    test.p = NormalP(n, m, ranked);
  }
  return test;
}

std::optional<double> CliffsDelta(std::span<const double> a, std::span<const double> b) {
  if (!Usable(a, b)) return std::nullopt;
  const auto pairs = static_cast<double>(a.size()) * static_cast<double>(b.size());
  return 2 * Rank(a, b).u / pairs - 1;
}

}  // namespace topdnn
