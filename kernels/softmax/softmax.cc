#include "kernels/softmax/softmax.h"

#include <fmt/format.h>

#include "kernels/op/problem.h"
#include "kernels/tensor/extents.h"

namespace topdnn {

SoftmaxOp::SoftmaxOp(std::int64_t batch, std::int64_t classes) : batch_(batch), classes_(classes) {
  CheckExtents("softmax", Shape{batch, classes});
}

std::string SoftmaxOp::Problem() const { return fmt::format("n{}k{}", batch_, classes_); }

std::vector<Operand> SoftmaxOp::Operands(const Execution& execution) const {
  const DataType type = execution.type;
  const Shape shape{batch_, classes_};
  switch (execution.pass) {
    case Pass::kForward:
      return {{Arg::kSrc, Direction::kIn, shape, type}, {Arg::kDst, Direction::kOut, shape, type}};
    case Pass::kBackwardData:
      return {{Arg::kDiffDst, Direction::kIn, shape, type},
              {Arg::kDst, Direction::kIn, shape, type},
              {Arg::kDiffSrc, Direction::kOut, shape, type}};
    case Pass::kBackwardWeights:
      break;
  }
  return {};
}

Arithmetic SoftmaxOp::ArithmeticOf(const Execution& execution) const {
  if (execution.pass == Pass::kBackwardWeights) return {};
  const std::int64_t entries = batch_ * classes_;
  Arithmetic work;
  work.macs = execution.pass == Pass::kForward ? 0 : entries;
  work.flops = (execution.pass == Pass::kForward ? 5 : 4) * entries;
  return work;
}

namespace {

std::shared_ptr<const Op> ParseSoftmax(const ProblemWord& word) {
  return std::make_shared<SoftmaxOp>(word.Field('n'), word.Field('k'));
}

const ProblemRegistration kSoftmaxProblem("softmax", ParseSoftmax);

}  // namespace

}  // namespace topdnn
