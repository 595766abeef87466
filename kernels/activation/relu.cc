#include "kernels/activation/relu.h"

#include <fmt/format.h>

#include <stdexcept>

#include "kernels/op/problem.h"
#include "kernels/tensor/extents.h"

namespace topdnn {

ReluOp::ReluOp(Shape shape, float bound) : ActivationOp(std::move(shape)), bound_(bound) {
  CheckExtents("relu", this->shape());
  if (this->shape().rank() == 0 || !(bound >= 0)) {
    throw std::invalid_argument(
        fmt::format("relu of {} bounded by {}: it needs one dimension or more, and a bound of 0 "
                    "(none) or more",
                    this->shape().ToString(), bound));
  }
}

std::string ReluOp::Problem() const {
  return bound_ == 0.0F ? shape().ToString()
                        : fmt::format("{}_bound{}", shape().ToString(), bound_);
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
