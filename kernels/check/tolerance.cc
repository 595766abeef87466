#include "kernels/check/tolerance.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "kernels/check/difference.h"

namespace topdnn {

double Tolerance(const Op& op, const Execution& execution, std::string_view algorithm) {
  const bool whole = execution.type == DataType::kS8 || execution.type == DataType::kU8;
  const bool scaled = op.kind() == "primitive";
  if (whole && !scaled) return 0;
  const auto length = static_cast<double>(op.AccumulationLength(execution.pass));
  if (length == 0) return 0;
  const bool wide = execution.type == DataType::kF64;
  const double sums = UnitRoundoff(wide ? DataType::kF64 : DataType::kF32);
  double tolerance = sums * 4 * (4 + std::sqrt(length));
  if (algorithm.starts_with("winograd")) tolerance *= 16;
  // oneDNN's pooling adds the gradients of overlapping windows in their own type.
  if (op.kind() == "pool" && execution.pass == Pass::kBackwardData) {
    tolerance += RoundingOfResults(op, execution.pass, execution.type);
  }
  // A scaled sum of whole numbers may be rounded to the next one; its deviation is about 32.
  if (whole) tolerance += 1.0 / 64;
  return tolerance;
}

double RoundingOfResults(const Op& op, Pass pass, DataType result) {
  if (op.AccumulationLength(pass) == 0) return 0;
  const double own = UnitRoundoff(result);
  return own > UnitRoundoff(DataType::kF32) ? 2 * own : 0;
}

double RelativeError(std::span<const double> a, std::span<const double> b, double scale,
                     double rounding) {
  Difference difference(rounding);
  for (std::size_t i = 0; i < b.size(); ++i) difference.Add(a[i], b[i]);
  return difference.Relative(scale);
}

std::string FirstWrongElement(std::span<const double> a, std::span<const double> b,
                              double tolerance, double scale, double rounding, const Shape& shape,
                              std::span<const std::int64_t> elements) {
  double largest = scale;
  for (const double value : b) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  for (std::size_t i = 0; i < b.size(); ++i) {
    Difference one(rounding);
    one.Add(a[i], b[i]);
    if (one.Relative(largest) <= tolerance) continue;
    std::vector<std::int64_t> index(static_cast<std::size_t>(shape.rank()));
    std::int64_t rest = elements.empty() ? static_cast<std::int64_t>(i) : elements[i];
    for (int d = shape.rank() - 1; d >= 0; --d) {
      index[static_cast<std::size_t>(d)] = rest % shape[d];
      rest /= shape[d];
    }
    return fmt::format("({}) is {:.6g} instead of {:.6g}", fmt::join(index, ","), a[i], b[i]);
  }
  return "";
}

}  // namespace topdnn
