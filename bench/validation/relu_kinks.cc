#include "bench/validation/relu_kinks.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "kernels/activation/relu.h"
#include "kernels/batchnorm/batchnorm.h"
#include "kernels/conv/conv.h"
#include "kernels/eltwise/add.h"
#include "kernels/inner_product/inner_product.h"

namespace topdnn {

namespace {

// The upper bound of an operation's final ReLU, 0 for a ReLU without a bound; absent if the
// operation has no final ReLU.
std::optional<double> BoundOf(const Op& op) {
  const auto bounded = [](const auto& epilogue) {
    return epilogue.relu ? std::optional(static_cast<double>(epilogue.bound)) : std::nullopt;
  };
  if (const auto* relu = dynamic_cast<const ReluOp*>(&op)) {
    return static_cast<double>(relu->bound());
  }
  if (const auto* conv = dynamic_cast<const ConvOp*>(&op)) return bounded(conv->epilogue());
  const auto unbounded = [](bool relu) { return relu ? std::optional(0.0) : std::nullopt; };
  if (const auto* dense = dynamic_cast<const InnerProductOp*>(&op)) {
    return unbounded(dense->epilogue().relu);
  }
  if (const auto* norm = dynamic_cast<const BatchNormOp*>(&op)) return unbounded(norm->relu());
  if (const auto* add = dynamic_cast<const AddOp*>(&op)) return unbounded(add->relu());
  return std::nullopt;
}

}  // namespace

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
  const std::optional<double> bound = BoundOf(*stage.op);
  const KernelOperand* dst = stage.kernel->Find(Arg::kDst);
  if (!bound || dst == nullptr || dst->desc.layout.is_opaque()) return 0;
  return CountAtKinks(plan.Read(stage.buffers.at(Arg::kDst)), *bound);
}

}  // namespace topdnn
