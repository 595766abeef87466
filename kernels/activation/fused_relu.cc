#include "kernels/activation/fused_relu.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <stdexcept>

namespace topdnn {

double RootMeanSquare(const std::vector<double>& values) {
  const double squares = std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
  return std::sqrt(squares / static_cast<double>(values.size()));
}

void CheckFusedRelu(std::string_view kind, bool relu, float bound) {
  if (bound >= 0 && (bound == 0 || relu)) return;
  throw std::invalid_argument(fmt::format(
      "{} bounded by {}: a bound needs a ReLU and must be above 0 (0: no bound)", kind, bound));
}

std::string SpellFusedRelu(bool relu, float bound) {
  if (!relu) return "";
  return bound == 0.0F ? "_relu" : fmt::format("_relu_bound{}", bound);
}

double MagnitudeBeforeBound(const Op& op, const Execution& execution,
                            const std::function<std::vector<double>(Arg)>& values) {
  if (execution.pass != Pass::kForward || op.Traits().final_relu_bound.value_or(0) == 0) return 0;
  const std::int64_t terms = op.AccumulationLength(execution.pass);
  return RootMeanSquare(values(Arg::kSrc)) * RootMeanSquare(values(Arg::kWeights)) *
         std::sqrt(static_cast<double>(terms));
}

}  // namespace topdnn
