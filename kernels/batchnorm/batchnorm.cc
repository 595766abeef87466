#include "kernels/batchnorm/batchnorm.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "kernels/activation/fused_relu.h"
#include "kernels/activation/relu.h"
#include "kernels/op/problem.h"
#include "kernels/tensor/extents.h"

namespace topdnn {

BatchNormOp::BatchNormOp(Shape shape, float epsilon, bool relu, float relu_bound)
    : shape_(std::move(shape)), epsilon_(epsilon), relu_(relu), relu_bound_(relu_bound) {
  CheckExtents("batch normalization", shape_);
  if (shape_.rank() < 2 || shape_.rank() > 5) {
    throw std::invalid_argument(
        fmt::format("batch normalization of {}: the shape must be (N, C) to (N, C, D, H, W)",
                    shape_.ToString()));
  }
  if (!(epsilon > 0) || !std::isfinite(epsilon)) {
    throw std::invalid_argument(
        fmt::format("batch normalization of {} with epsilon {}: epsilon must be finite and above 0",
                    shape_.ToString(), epsilon));
  }
  CheckFusedRelu(BatchNormOp::kind(), relu, relu_bound);
  if (std::isinf(relu_bound)) {
    throw std::invalid_argument(fmt::format(
        "batch normalization of {} with a ReLU up to infinity: give a finite bound, or 0 for none",
        shape_.ToString()));
  }
}

std::string BatchNormOp::Problem() const {
  std::string problem = shape_.ToString();
  if (epsilon_ != kDefaultEpsilon) problem += fmt::format("_eps{}", epsilon_);
  return problem + SpellFusedRelu(relu_, relu_bound_);
}

std::vector<Operand> BatchNormOp::Operands(const Execution& execution) const {
  const DataType type = execution.type;
  const DataType of_channel = TypesOf(execution).parameter;
  const Shape channel{channels()};
  const bool forward = execution.pass == Pass::kForward;
  if (execution.pass == Pass::kBackwardWeights) return {};
  if (!forward && !TypesOf(execution).has_gradients) return {};
  const Direction statistics = forward && execution.training ? Direction::kOut : Direction::kIn;
  std::vector<Operand> operands = {{Arg::kSrc, Direction::kIn, shape_, type},
                                   {Arg::kScale, Direction::kIn, channel, of_channel},
                                   {Arg::kMean, statistics, channel, of_channel},
                                   {Arg::kVariance, statistics, channel, of_channel}};
  if (relu_ && (execution.training || !forward)) {
    operands.push_back(
        {Arg::kWorkspace, forward ? Direction::kOut : Direction::kIn, shape_, DataType::kU8});
  }
  if (forward) {
    operands.push_back({Arg::kShift, Direction::kIn, channel, of_channel});
    operands.push_back({Arg::kDst, Direction::kOut, shape_, type});
  } else {
    operands.push_back({Arg::kDiffDst, Direction::kIn, shape_, type});
    operands.push_back({Arg::kDiffSrc, Direction::kOut, shape_, type});
    operands.push_back({Arg::kDiffScale, Direction::kOut, channel, of_channel});
    operands.push_back({Arg::kDiffShift, Direction::kOut, channel, of_channel});
  }
  return operands;
}

Arithmetic BatchNormOp::ArithmeticOf(const Execution& execution) const {
  const std::int64_t elements = shape_.elements();
  const std::int64_t relu = relu_ ? elements : 0;
  Arithmetic work;
  if (execution.pass == Pass::kBackwardData) {
    work.flops = 9 * elements + 8 * channels();
  } else if (execution.pass == Pass::kForward) {
    work.flops = execution.training ? 7 * elements + 6 * channels() + relu
                                    : 3 * elements + 4 * channels() + relu;
  }
  return work;
}

std::vector<Parameter> BatchNormOp::Parameters() const {
  const Shape channel{channels()};
  return {{Arg::kScale, Arg::kDiffScale, "scale", channel, 0, 1.0},
          {Arg::kShift, Arg::kDiffShift, "shift", channel, 0, 0.0}};
}

std::shared_ptr<const Op> BatchNormOp::FusedWith(const Op& next) const {
  const auto* relu = dynamic_cast<const ReluOp*>(&next);
  if (relu == nullptr || relu_ || relu->shape() != shape_ || std::isinf(relu->bound())) {
    return nullptr;
  }
  return std::make_shared<BatchNormOp>(shape_, epsilon_, true, relu->bound());
}

double BatchNormOp::MagnitudeOfDst(const Execution& execution,
                                   const std::function<std::vector<double>(Arg)>& values) const {
  if (!execution.training) return 0;
  const std::vector<double> mean = values(Arg::kMean);
  const std::vector<double> variance = values(Arg::kVariance);
  const std::vector<double> scale = values(Arg::kScale);
  double largest = 0;
  for (std::size_t c = 0; c < mean.size(); ++c) {
    const double squares = mean[c] * mean[c] + variance[c];
    const double divisor = variance[c] + static_cast<double>(epsilon_);
    largest = std::max(largest, std::abs(scale[c]) * std::sqrt(squares / divisor));
  }
  return largest;
}

namespace {

std::shared_ptr<const Op> ParseBatchNorm(const ProblemWord& word) {
  return std::make_shared<BatchNormOp>(word.shape(),
                                       word.NumberOr("eps", BatchNormOp::kDefaultEpsilon),
                                       word.Flag("relu"), word.NumberOr("bound", 0.0F));
}

const ProblemRegistration kBatchNormProblem("batchnorm", ParseBatchNorm);

}  // namespace

}  // namespace topdnn
