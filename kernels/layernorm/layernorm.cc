#include "kernels/layernorm/layernorm.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <utility>

#include "kernels/op/problem.h"
#include "kernels/tensor/extents.h"

namespace topdnn {

LayerNormOp::LayerNormOp(Shape shape, float epsilon) : shape_(std::move(shape)), epsilon_(epsilon) {
  CheckExtents("layer normalization", shape_);
  if (shape_.rank() < 2 || shape_.rank() > 5) {
    throw std::invalid_argument(
        fmt::format("layer normalization of {}: the shape must be (N, C) to (N, C, D, H, W)",
                    shape_.ToString()));
  }
  if (!(epsilon > 0) || !std::isfinite(epsilon)) {
    throw std::invalid_argument(
        fmt::format("layer normalization of {} with epsilon {}: epsilon must be finite and above 0",
                    shape_.ToString(), epsilon));
  }
}

std::string LayerNormOp::Problem() const {
  const bool usual = epsilon_ == kDefaultEpsilon;
  return shape_.ToString() + (usual ? "" : fmt::format("_eps{}", epsilon_));
}

std::vector<Operand> LayerNormOp::Operands(const Execution& execution) const {
  if (execution.pass == Pass::kBackwardWeights || !TypesOf(execution).has_gradients) return {};
  const DataType type = execution.type;
  const DataType parameter = TypesOf(execution).parameter;
  const Shape channel{channels()}, pixel{pixels()};
  std::vector<Operand> operands = {{Arg::kSrc, Direction::kIn, shape_, type},
                                   {Arg::kScale, Direction::kIn, channel, parameter}};
  const bool forward = execution.pass == Pass::kForward;
  if (execution.training || !forward) {
    const Direction direction = forward ? Direction::kOut : Direction::kIn;
    operands.push_back({Arg::kMean, direction, pixel, parameter});
    operands.push_back({Arg::kVariance, direction, pixel, parameter});
  }
  if (forward) {
    operands.push_back({Arg::kShift, Direction::kIn, channel, parameter});
    operands.push_back({Arg::kDst, Direction::kOut, shape_, type});
  } else {
    operands.push_back({Arg::kDiffDst, Direction::kIn, shape_, type});
    operands.push_back({Arg::kDiffSrc, Direction::kOut, shape_, type});
    operands.push_back({Arg::kDiffScale, Direction::kOut, channel, parameter});
    operands.push_back({Arg::kDiffShift, Direction::kOut, channel, parameter});
  }
  return operands;
}

Arithmetic LayerNormOp::ArithmeticOf(const Execution& execution) const {
  if (!Has(execution)) return {};
  return {.flops = execution.pass == Pass::kForward ? 8 * shape_.elements() + 5 * pixels()
                                                    : 13 * shape_.elements() + 5 * pixels()};
}

std::vector<Parameter> LayerNormOp::Parameters() const {
  const Shape channel{channels()};
  return {{Arg::kScale, Arg::kDiffScale, "scale", channel, 0, 1.0},
          {Arg::kShift, Arg::kDiffShift, "shift", channel, 0, 0.0}};
}

double LayerNormOp::MagnitudeOfDst(const Execution& execution,
                                   const std::function<std::vector<double>(Arg)>& values) const {
  if (execution.pass != Pass::kForward) return 0;
  const std::vector<double> src = values(Arg::kSrc);
  double most = 0, largest = 0;
  for (const double scale : values(Arg::kScale)) most = std::max(most, std::abs(scale));
  const std::int64_t plane = shape_.elements() / shape_[0] / channels();
  for (std::int64_t p = 0; p < pixels(); ++p) {
    double sum = 0, squares = 0;
    for (std::int64_t c = 0; c < channels(); ++c) {
      const auto at = static_cast<std::size_t>((p / plane * channels() + c) * plane + p % plane);
      sum += src[at];
      squares += src[at] * src[at];
    }
    const double mean = sum / static_cast<double>(channels());
    squares /= static_cast<double>(channels());
    const double variance = std::max(squares - mean * mean, 0.0);
    largest = std::max(largest, squares / (variance + static_cast<double>(epsilon_)));
  }
  return most * std::sqrt(largest);
}

namespace {

std::shared_ptr<const Op> ParseLayerNorm(const ProblemWord& word) {
  return std::make_shared<LayerNormOp>(word.shape(),
                                       word.NumberOr("eps", LayerNormOp::kDefaultEpsilon));
}

const ProblemRegistration kLayerNormProblem("layernorm", ParseLayerNorm);

}  // namespace

}  // namespace topdnn
