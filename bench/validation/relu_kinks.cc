#include "bench/validation/relu_kinks.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace topdnn {

std::int64_t CountAtKinks(std::span<const double> values, double bound) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  const double near = kKinkShare * largest;
  return std::count_if(values.begin(), values.end(), [&](double value) {
    return (value > 0 && value <= near) || (bound > 0 && value < bound && value >= bound - near);
  });
}

std::int64_t CountAtKinks(const Plan& plan, const Stage& stage) {
  if (stage.pass != StagePass::kForward) return 0;
  const std::optional<float> bound = stage.op->Traits().final_relu_bound;
  const KernelOperand* dst = stage.kernel->Find(Arg::kDst);
  if (!bound || dst == nullptr || dst->desc.layout.is_opaque()) return 0;
  return CountAtKinks(plan.Read(stage.buffers.at(Arg::kDst)), *bound);
}

}  // namespace topdnn
