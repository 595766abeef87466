#include "kernels/eltwise/add.h"

#include <fmt/format.h>

#include <stdexcept>

#include "kernels/activation/relu.h"
#include "kernels/op/problem.h"
#include "kernels/tensor/extents.h"

namespace topdnn {

AddOp::AddOp(Shape shape, int sources, bool relu)
    : shape_(std::move(shape)), sources_(sources), relu_(relu) {
  CheckExtents("add", shape_);
  if (sources < 2 || sources > kMaxSources || shape_.rank() == 0) {
    throw std::invalid_argument(fmt::format(
        "add of {} tensors of {}: 2 to {} tensors with one dimension or more are supported",
        sources, shape_.ToString(), kMaxSources));
  }
}

std::string AddOp::Problem() const {
  return fmt::format("{}_of{}{}", shape_.ToString(), sources_, relu_ ? "_relu" : "");
}

std::vector<Operand> AddOp::Operands(const Execution& execution) const {
  if (execution.pass != Pass::kForward) return {};
  std::vector<Operand> operands;
  operands.reserve(static_cast<std::size_t>(sources_) + 1);
  for (int i = 0; i < sources_; ++i) {
    operands.push_back({IndexedSrc(i), Direction::kIn, shape_, execution.type});
  }
  operands.push_back({Arg::kDst, Direction::kOut, shape_, execution.type});
  return operands;
}

Arithmetic AddOp::ArithmeticOf(const Execution& execution) const {
  if (execution.pass != Pass::kForward) return {};
  return {.flops = (sources_ - 1 + (relu_ ? 1 : 0)) * shape_.elements()};
}

std::shared_ptr<const Op> AddOp::FusedWith(const Op& next) const {
  const auto* relu = dynamic_cast<const ReluOp*>(&next);
  if (relu == nullptr || relu->bound() != 0.0F || relu_ || relu->shape() != shape_) return nullptr;
  return std::make_shared<AddOp>(shape_, sources_, true);
}

namespace {

std::shared_ptr<const Op> ParseAdd(const ProblemWord& word) {
  return std::make_shared<AddOp>(word.shape(), word.WholeNumberOr("of", 2), word.Flag("relu"));
}

const ProblemRegistration kAddProblem("add", ParseAdd);

}  // namespace

}  // namespace topdnn
