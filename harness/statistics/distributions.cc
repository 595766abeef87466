#include "harness/statistics/distributions.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace topdnn {

double NormalTwoSided(double z) { return std::erfc(std::abs(z) / std::numbers::sqrt2); }

double StudentTwoSided(double t, int degrees) {
  const double angle = std::atan(std::abs(t) / std::sqrt(static_cast<double>(degrees)));
  const double sine = std::sin(angle);
  const double cosine = std::cos(angle);
  const bool odd = degrees % 2 == 1;
  // The terms of the series: the powers of the cosine up to degrees - 2.
  double sum = 0;
  double term = odd ? cosine : 1;
  for (int power = odd ? 1 : 0; power <= degrees - 2; power += 2) {
    sum += term;
    term *= cosine * cosine * (power + 1) / (power + 2);
  }
  const double inside = odd ? 2 / std::numbers::pi * (angle + sine * sum) : sine * sum;
  return std::clamp(1 - inside, 0.0, 1.0);
}

double StudentQuantile(double p, int degrees) {
  double low = 0;
  double high = 1;
  constexpr double kMost = 1e12;
  while (StudentTwoSided(high, degrees) > p && high < kMost) high *= 2;
  constexpr int kHalvings = 200;
  for (int i = 0; i < kHalvings && high - low > 1e-12 * high; ++i) {
    const double middle = (low + high) / 2;
    (StudentTwoSided(middle, degrees) > p ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace topdnn
