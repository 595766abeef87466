#include "kernels/lrn/lrn.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <stdexcept>

#include "kernels/op/problem.h"
#include "kernels/tensor/extents.h"

namespace topdnn {

LrnOp::LrnOp(Shape shape, LrnSettings settings) : shape_(std::move(shape)), settings_(settings) {
  CheckExtents("local response normalization", shape_);
  const auto refuse = [&](std::string_view why) {
    throw std::invalid_argument(fmt::format(
        "local response normalization of {} by size {}, alpha {}, beta {}, k {}: {}",
        shape_.ToString(), settings_.size, settings_.alpha, settings_.beta, settings_.k, why));
  };
  if (shape_.rank() < 2 || shape_.rank() > 5) refuse("the shape must be (N, C) to (N, C, D, H, W)");
  if (settings_.size < 1 || settings_.size > kMaxChannelsInWindow) {
    refuse(fmt::format("the size must be 1 to {}", kMaxChannelsInWindow));
  }
  if (!std::isfinite(settings_.alpha) || !std::isfinite(settings_.beta) ||
      !std::isfinite(settings_.k)) {
    refuse("alpha, beta and k must be finite");
  }
  if (settings_.alpha < 0 || settings_.k <= 0) refuse("alpha must be 0 or more and k above 0");
}

std::string LrnOp::Problem() const {
  const LrnSettings usual;
  std::string problem = fmt::format("{}_size{}", shape_.ToString(), settings_.size);
  if (settings_.alpha != usual.alpha) problem += fmt::format("_alpha{}", settings_.alpha);
  if (settings_.beta != usual.beta) problem += fmt::format("_beta{}", settings_.beta);
  if (settings_.k != usual.k) problem += fmt::format("_k{}", settings_.k);
  return problem;
}

std::vector<Operand> LrnOp::Operands(const Execution& execution) const {
  const DataType type = execution.type;
  const DataType scale = TypesOf(execution).parameter;
  std::vector<Operand> operands;
  switch (execution.pass) {
    case Pass::kForward:
      operands = {{Arg::kSrc, Direction::kIn, shape_, type},
                  {Arg::kDst, Direction::kOut, shape_, type}};
      if (execution.training && !execution.recomputes) {
        operands.push_back({Arg::kWorkspace, Direction::kOut, shape_, scale});
      }
      break;
    case Pass::kBackwardData:
      if (!TypesOf(execution).has_gradients) break;
      operands = {{Arg::kSrc, Direction::kIn, shape_, type},
                  execution.recomputes ? Operand{Arg::kDst, Direction::kIn, shape_, type}
                                       : Operand{Arg::kWorkspace, Direction::kIn, shape_, scale},
                  {Arg::kDiffDst, Direction::kIn, shape_, type},
                  {Arg::kDiffSrc, Direction::kOut, shape_, type}};
      break;
    case Pass::kBackwardWeights:
      break;
  }
  return operands;
}

Arithmetic LrnOp::ArithmeticOf(const Execution& execution) const {
  if (execution.pass == Pass::kBackwardWeights) return {};
  std::int64_t inside = 0;  // sum over the channels of one pixel of their windows' sizes
  for (std::int64_t d = -(settings_.size - 1) / 2; d <= settings_.size / 2; ++d) {
    inside += std::max<std::int64_t>(channels() - std::abs(d), 0);
  }
  const std::int64_t elements = shape_.elements();
  const std::int64_t terms = inside * batch() * image();
  const std::int64_t per_term = execution.pass == Pass::kForward ? 2 : 1;
  const std::int64_t others = (execution.pass == Pass::kForward ? 4 : 7) * elements;
  Arithmetic work;
  work.flops = per_term * settings_.size * elements + others;
  work.flops_without_padding = per_term * terms + others;
  if (execution.pass == Pass::kBackwardData && execution.recomputes) {
    const Arithmetic forward = ArithmeticOf({Pass::kForward});
    const std::int64_t power_and_product = 2 * elements;
    work.flops += forward.flops - power_and_product;
    *work.flops_without_padding += *forward.flops_without_padding - power_and_product;
  }
  return work;
}

namespace {

std::shared_ptr<const Op> ParseLrn(const ProblemWord& word) {
  const LrnSettings usual;
  LrnSettings settings;
  settings.size = word.WholeNumberOr("size", static_cast<int>(usual.size));
  settings.alpha = word.NumberOr("alpha", usual.alpha);
  settings.beta = word.NumberOr("beta", usual.beta);
  settings.k = word.NumberOr("k", usual.k);
  return std::make_shared<LrnOp>(word.shape(), settings);
}

const ProblemRegistration kLrnProblem("lrn", ParseLrn);

}  // namespace

}  // namespace topdnn
