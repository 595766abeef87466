#include "kernels/flatten/flatten.h"

#include <fmt/format.h>

#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "kernels/op/problem.h"
#include "kernels/tensor/extents.h"

namespace topdnn {

namespace {

Shape Rows(const Shape& src) {
  CheckExtents("flatten", src);
  if (src.rank() == 0) throw std::invalid_argument("flatten of a scalar: it needs a dimension N");
  return {src[0], src.elements() / src[0]};
}

}  // namespace

FlattenOp::FlattenOp(Shape src) : src_(std::move(src)), dst_(Rows(src_)) {}

FlattenOp::FlattenOp(Shape src, Shape dst) : src_(std::move(src)), dst_(std::move(dst)) {
  CheckExtents("flatten", src_);
  CheckExtents("flatten", dst_);
  if (src_.rank() == 0 || dst_.rank() == 0 || src_.elements() != dst_.elements()) {
    throw std::invalid_argument(
        fmt::format("flatten of {} to {}: both need one dimension or more, and the same number of "
                    "elements",
                    src_.ToString(), dst_.ToString()));
  }
}

std::string FlattenOp::Problem() const {
  if (dst_ == Rows(src_)) return src_.ToString();
  return fmt::format("{}_to{}", src_.ToString(), dst_.ToString());
}

std::vector<Operand> FlattenOp::Operands(const Execution& execution) const {
  return UnaryOperands(execution, src_, dst_);
}

namespace {

std::shared_ptr<const Op> ParseFlatten(const ProblemWord& word) {
  const Shape src = word.shape();
  if (!word.Has("to")) return std::make_shared<FlattenOp>(src);
  return std::make_shared<FlattenOp>(src, Shape(word.WholeNumbers("to")));
}

const ProblemRegistration kFlattenProblem("flatten", ParseFlatten);

}  // namespace

}  // namespace topdnn
