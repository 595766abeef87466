#include "kernels/activation/sigmoid.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <stdexcept>

#include "kernels/op/problem.h"
#include "kernels/tensor/extents.h"

namespace topdnn {

SigmoidOp::SigmoidOp(Shape shape) : ActivationOp(std::move(shape)) {
  CheckExtents("sigmoid", this->shape());
}

HardSigmoidOp::HardSigmoidOp(Shape shape, float alpha, float beta)
    : ActivationOp(std::move(shape)), alpha_(alpha), beta_(beta) {
  CheckExtents("hard_sigmoid", this->shape());
  if (!std::isfinite(alpha) || !std::isfinite(beta)) {
    throw std::invalid_argument(
        fmt::format("hard_sigmoid of {} * src + {}: both must be finite", alpha, beta));
  }
}

std::string HardSigmoidOp::Problem() const {
  return fmt::format("{}_alpha{}_beta{}", shape().ToString(), alpha_, beta_);
}

namespace {

std::shared_ptr<const Op> ParseSigmoid(const ProblemWord& word) {
  return std::make_shared<SigmoidOp>(word.shape());
}

std::shared_ptr<const Op> ParseHardSigmoid(const ProblemWord& word) {
  return std::make_shared<HardSigmoidOp>(word.shape(), word.NumberOr("alpha", 0.2F),
                                         word.NumberOr("beta", 0.5F));
}

const ProblemRegistration kSigmoid("sigmoid", ParseSigmoid);
const ProblemRegistration kHardSigmoid("hard_sigmoid", ParseHardSigmoid);

}  // namespace

}  // namespace topdnn
