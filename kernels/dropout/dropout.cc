#include "kernels/dropout/dropout.h"

#include <fmt/format.h>

#include <limits>
#include <memory>
#include <stdexcept>

#include "kernels/op/problem.h"
#include "kernels/tensor/extents.h"

namespace topdnn {

DropoutOp::DropoutOp(Shape shape, float ratio, std::uint32_t seed, bool rows)
    : shape_(std::move(shape)), ratio_(ratio), seed_(seed), rows_(rows) {
  CheckExtents("dropout", shape_);
  if (!(ratio >= 0 && ratio < 1)) {
    throw std::invalid_argument(fmt::format(
        "dropout of {} by {}: the ratio must be 0 or more and below 1", shape_.ToString(), ratio));
  }
  if (rows && shape_.rank() == 0) {
    throw std::invalid_argument(
        "dropout of the rows of a scalar: it needs the dimensions (N, ...)");
  }
}

std::string DropoutOp::Problem() const {
  const std::string seed = seed_ == 0 ? "" : fmt::format("s{}", seed_);
  return fmt::format("{}{}_ratio{}{}", shape_.ToString(), seed, ratio_, rows_ ? "_rows" : "");
}

std::vector<Operand> DropoutOp::Operands(const Execution& execution) const {
  const DataType type = execution.type;
  std::vector<Operand> operands;
  switch (execution.pass) {
    case Pass::kForward:
      operands = {{Arg::kSrc, Direction::kIn, shape_, type},
                  {Arg::kDst, Direction::kOut, shape_, type}};
      if (execution.training) {
        operands.push_back({Arg::kStep, Direction::kInOut, Shape{}, DataType::kS32});
        operands.push_back({Arg::kWorkspace, Direction::kOut, mask_shape(), DataType::kU8});
      }
      break;
    case Pass::kBackwardData:
      operands = {{Arg::kDiffDst, Direction::kIn, shape_, type},
                  {Arg::kWorkspace, Direction::kIn, mask_shape(), DataType::kU8},
                  {Arg::kDiffSrc, Direction::kOut, shape_, type}};
      break;
    case Pass::kBackwardWeights:
      break;
  }
  return operands;
}

Arithmetic DropoutOp::ArithmeticOf(const Execution& execution) const {
  if (execution.pass == Pass::kBackwardWeights) return {};
  const bool scales = execution.training || execution.pass == Pass::kBackwardData;
  return {.flops = scales ? shape_.elements() : 0};
}

namespace {

std::shared_ptr<const Op> ParseDropout(const ProblemWord& word) {
  const std::int64_t seed = word.FieldOr('s', 0);
  if (seed > std::numeric_limits<std::uint32_t>::max()) {
    throw std::invalid_argument(fmt::format("dropout with seed {}: it must fit 32 bits", seed));
  }
  return std::make_shared<DropoutOp>(word.shape(), word.NumberOr("ratio", 0.5F),
                                     static_cast<std::uint32_t>(seed), word.Flag("rows"));
}

const ProblemRegistration kDropoutProblem("dropout", ParseDropout);

}  // namespace

}  // namespace topdnn
