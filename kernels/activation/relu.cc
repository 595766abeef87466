#include "kernels/activation/relu.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "kernels/problem.h"

namespace topdnn {

ReluOp::ReluOp(Shape shape, float bound) : shape_(std::move(shape)), bound_(bound) {
  const auto& extents = shape_.extents();
  if (extents.empty() || *std::min_element(extents.begin(), extents.end()) < 1 || !(bound >= 0)) {
    throw std::invalid_argument(
        fmt::format("relu of {} bounded by {}: every extent must be 1 or more and the bound 0 "
                    "(none) or more",
                    shape_.ToString(), bound));
  }
}

std::string ReluOp::Problem() const {
  return bound_ == 0.0F ? shape_.ToString() : fmt::format("{}_bound{}", shape_.ToString(), bound_);
}

std::vector<Operand> ReluOp::Operands(const Execution& execution) const {
  const DataType type = execution.type;
  switch (execution.pass) {
    case Pass::kForward:
      return {{Arg::kSrc, Direction::kIn, shape_, type},
              {Arg::kDst, Direction::kOut, shape_, type}};
    case Pass::kBackwardData:
      return {{Arg::kDiffDst, Direction::kIn, shape_, type},
              {Arg::kDst, Direction::kIn, shape_, type},
              {Arg::kDiffSrc, Direction::kOut, shape_, type}};
    case Pass::kBackwardWeights:
      break;
  }
  return {};
}

Work ReluOp::WorkOf(Pass pass, DataType type) const {
  Work work;
  work.flops = shape_.elements();
  work.flops_without_padding = work.flops;
  work.bytes = CompulsoryBytes(*this, {pass, true, type});
  return work;
}

namespace {

std::shared_ptr<const Op> ParseRelu(const ProblemWord& word) {
  return std::make_shared<ReluOp>(word.shape());
}

std::shared_ptr<const Op> ParseBoundedRelu(const ProblemWord& word) {
  return std::make_shared<ReluOp>(word.shape(), word.NumberOr("bound", 6.0F));
}

const ProblemRegistration kRelu("relu", ParseRelu);
const ProblemRegistration kBoundedRelu("bounded_relu", ParseBoundedRelu);

}  // namespace

}  // namespace topdnn
