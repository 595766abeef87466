#include "kernels/eltwise/integer_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

#include "kernels/op/problem.h"
#include "kernels/tensor/extents.h"

namespace topdnn {

IntegerStepsOp::IntegerStepsOp(Shape shape, std::vector<IntegerStep> steps, std::int64_t channels)
    : shape_(std::move(shape)), steps_(std::move(steps)), channels_(channels), run_(1) {
  CheckExtents("integer_steps", shape_);
  constexpr std::size_t kMostSteps = 9;
  const bool by_channel = shape_.rank() > 1 && channels_ == shape_[1];
  if (steps_.empty() || steps_.size() > kMostSteps || (channels_ != 1 && !by_channel)) {
    throw std::invalid_argument(
        fmt::format("integer_steps of {}: 1 to 9 steps, and 1 channel or those of dimension 1",
                    shape_.ToString()));
  }
  CheckWork("integer_steps", {shape_.elements(), static_cast<std::int64_t>(steps_.size())});
  for (int d = channels_ == 1 ? 0 : 2; d < shape_.rank(); ++d) run_ *= shape_[d];
}

std::string IntegerStepsOp::Problem() const {
  std::string digits;
  for (const IntegerStep step : steps_) digits += std::to_string(static_cast<int>(step));
  return fmt::format("{}_steps{}_channels{}", shape_.ToString(), digits, channels_);
}

std::vector<Operand> IntegerStepsOp::Operands(const Execution& execution) const {
  if (execution.pass != Pass::kForward || !TypesOf(execution).has_gradients) return {};
  const Shape constant{static_cast<std::int64_t>(steps_.size()), channels_};
  return {{Arg::kSrc, Direction::kIn, shape_, execution.type},
          {Arg::kWeights, Direction::kIn, constant, execution.type},
          {Arg::kDst, Direction::kOut, shape_, execution.type}};
}

Arithmetic IntegerStepsOp::ArithmeticOf(const Execution& execution) const {
  if (!Has(execution)) return {};
  return {.flops = shape_.elements() * static_cast<std::int64_t>(steps_.size())};
}

std::vector<Parameter> IntegerStepsOp::Parameters() const {
  const Shape constant{static_cast<std::int64_t>(steps_.size()), channels_};
  return {{Arg::kWeights, Arg::kDiffWeights, "constant", constant, 0, 1.0}};
}

namespace {

std::shared_ptr<const Op> ParseIntegerSteps(const ProblemWord& word) {
  std::vector<IntegerStep> steps;
  for (int digits = word.WholeNumberOr("steps", 0); digits > 0; digits /= 10) {
    const int digit = digits % 10;
    if (digit < 1 || digit > static_cast<int>(IntegerStep::kMax)) {
      throw std::invalid_argument(fmt::format("'_steps' has the digit {}, not 1 to 6", digit));
    }
    steps.insert(steps.begin(), static_cast<IntegerStep>(digit));
  }
  return std::make_shared<IntegerStepsOp>(word.shape(), std::move(steps),
                                          word.WholeNumberOr("channels", 1));
}

const ProblemRegistration kIntegerSteps("integer_steps", ParseIntegerSteps);

}  // namespace

}  // namespace topdnn
