#include "kernels/softmax/cross_entropy.h"

#include <fmt/format.h>

#include "kernels/op/problem.h"
#include "kernels/tensor/extents.h"

namespace topdnn {

SoftmaxCrossEntropyOp::SoftmaxCrossEntropyOp(std::int64_t batch, std::int64_t classes)
    : batch_(batch), classes_(classes) {
  CheckExtents("softmax cross-entropy", Shape{batch, classes});
}

std::string SoftmaxCrossEntropyOp::Problem() const {
  return fmt::format("n{}k{}", batch_, classes_);
}

std::vector<Operand> SoftmaxCrossEntropyOp::Operands(const Execution& execution) const {
  if (execution.pass != Pass::kForward) return {};
  const DataType type = execution.type;
  const Shape logits{batch_, classes_};
  std::vector<Operand> operands = {{Arg::kSrc, Direction::kIn, logits, type},
                                   {Arg::kLabels, Direction::kIn, Shape{batch_}, DataType::kS32},
                                   {Arg::kLoss, Direction::kOut, Shape{}, type}};
  if (execution.training) operands.push_back({Arg::kDiffSrc, Direction::kOut, logits, type});
  return operands;
}

Arithmetic SoftmaxCrossEntropyOp::ArithmeticOf(const Execution& execution) const {
  // Without a gradient there is none to scale.
  return {.flops = (execution.training ? 5 : 4) * batch_ * classes_};
}

namespace {

std::shared_ptr<const Op> ParseCrossEntropy(const ProblemWord& word) {
  return std::make_shared<SoftmaxCrossEntropyOp>(word.Field('n'), word.Field('k'));
}

const ProblemRegistration kCrossEntropyProblem("softmax_cross_entropy", ParseCrossEntropy);

}  // namespace

}  // namespace topdnn
