#include "kernels/flatten/flatten.h"

#include <stdexcept>

#include "kernels/extents.h"
#include "kernels/problem.h"

namespace topdnn {

FlattenOp::FlattenOp(Shape src) : src_(std::move(src)) {
  CheckExtents("flatten", src_);
  if (src_.rank() == 0) throw std::invalid_argument("flatten of a scalar: it needs a dimension N");
  dst_ = Shape{src_[0], src_.elements() / src_[0]};
}

std::vector<Operand> FlattenOp::Operands(const Execution& execution) const {
  return UnaryOperands(execution, src_, dst_);
}

Work FlattenOp::WorkOf(Pass pass, DataType type) const {
  Work work;
  work.bytes = CompulsoryBytes(*this, {pass, true, type});
  return work;
}

namespace {

std::shared_ptr<const Op> ParseFlatten(const ProblemWord& word) {
  return std::make_shared<FlattenOp>(word.shape());
}

const ProblemRegistration kProblem("flatten", ParseFlatten);

}  // namespace

}  // namespace topdnn
