#include "harness/statistics/relative_fit.h"

namespace topdnn {

RelativeFit FitRelative(std::span<const RelativeTerms> rows) {
  double uu = 0, uv = 0, vv = 0, u1 = 0, v1 = 0;
  for (const auto& [u, v] : rows) {
    uu += u * u;
    uv += u * v;
    vv += v * v;
    u1 += u;
    v1 += v;
  }
  const double determinant = uu * vv - uv * uv;
  // Rows that are proportional but for rounding have a determinant near 0.
  const bool determined = determinant > 1e-12 * uu * vv;
  if (!determined) return {0, vv > 0 ? v1 / vv : 0, false};
  const double x = (u1 * vv - v1 * uv) / determinant;
  const double y = (v1 * uu - u1 * uv) / determinant;
  if (!(x >= 0)) return {0, v1 / vv, determined};
  if (!(y >= 0)) return {u1 / uu, 0, determined};
  return {x, y, determined};
}

}  // namespace topdnn
