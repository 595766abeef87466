#include "kernels/pool/pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "kernels/op/problem.h"
#include "kernels/op/window.h"
#include "kernels/op/window_problem.h"
#include "kernels/tensor/extents.h"

namespace topdnn {

namespace {

constexpr std::array<std::string_view, 3> kPoolNames = {"max", "average", "average_of_padding"};

std::int64_t OutputExtentOf(const PoolExtents& e, std::int64_t input, std::int64_t kernel,
                            std::int64_t stride, std::int64_t pad_before, std::int64_t pad_after) {
  if (!e.ceil_mode) return OutputExtent(input, pad_before, pad_after, kernel, stride);
  const std::int64_t outputs = (input + pad_before + pad_after - kernel + stride - 1) / stride + 1;
  // A window that covers only trailing padding does not count.
  return (outputs - 1) * stride >= input + pad_before ? outputs - 1 : outputs;
}

void Check(const PoolExtents& e) {
  const auto refuse = [&](std::string_view why) {
    throw std::invalid_argument(fmt::format("pooling of {}x{}x{}x{} by windows of {}x{}: {}", e.n,
                                            e.c, e.h, e.w, e.r, e.s, why));
  };
  if (std::min({e.n, e.c, e.h, e.w, e.r, e.s}) < 1) refuse("every extent must be 1 or more");
  if (std::min(e.stride_h, e.stride_w) < 1) refuse("strides must be 1 or more");
  if (std::min({e.pad_top, e.pad_left, e.pad_bottom, e.pad_right}) < 0) {
    refuse("padding must be 0 or more");
  }
  if (std::max({e.r, e.s, e.stride_h, e.stride_w}) > kMaxWindow) {
    refuse(fmt::format("window and stride must be at most {}", kMaxWindow));
  }
  CheckExtents("pooling", {e.n, e.c, e.h, e.w});
  if (std::max(e.pad_top, e.pad_bottom) >= e.r || std::max(e.pad_left, e.pad_right) >= e.s) {
    refuse("padding must be smaller than the window");
  }
  if (e.h + e.pad_top + e.pad_bottom < e.r || e.w + e.pad_left + e.pad_right < e.s) {
    refuse("the window is larger than the padded image");
  }
  CheckExtents("pooling, result", {e.n, e.c, e.oh(), e.ow()});
  CheckWork("pooling", {e.n, e.c, e.oh(), e.ow(), e.r, e.s});
}

}  // namespace

std::string_view NameOf(PoolAlgorithm algorithm) {
  return kPoolNames[static_cast<std::size_t>(algorithm)];
}

std::int64_t PoolExtents::oh() const {
  return OutputExtentOf(*this, h, r, stride_h, pad_top, pad_bottom);
}

std::int64_t PoolExtents::ow() const {
  return OutputExtentOf(*this, w, s, stride_w, pad_left, pad_right);
}

PoolOp::PoolOp(PoolAlgorithm algorithm, const PoolExtents& extents)
    : algorithm_(algorithm), extents_(extents) {
  Check(extents_);
  const PoolExtents& e = extents_;
  unread_ = src_shape().elements() - e.n * e.c *
                                         ElementsRead(e.h, e.oh(), e.r, e.stride_h, e.pad_top) *
                                         ElementsRead(e.w, e.ow(), e.s, e.stride_w, e.pad_left);
}

std::string PoolOp::Problem() const {
  const PoolExtents& e = extents_;
  std::string problem =
      fmt::format("{}n{}c{}h{}w{}{}", NameOf(algorithm_), e.n, e.c, e.h, e.w, SpellWindow(e));
  if (e.ceil_mode) problem += "_ceil";
  return problem;
}

std::vector<Operand> PoolOp::Operands(const Execution& execution) const {
  const DataType type = execution.type;
  const bool max = algorithm_ == PoolAlgorithm::kMax;
  const bool workspace = max && !execution.recomputes;
  std::vector<Operand> operands;
  switch (execution.pass) {
    case Pass::kForward:
      operands = {{Arg::kSrc, Direction::kIn, src_shape(), type, unread_},
                  {Arg::kDst, Direction::kOut, dst_shape(), type}};
      if (workspace && execution.training) {
        operands.push_back({Arg::kWorkspace, Direction::kOut, dst_shape(), DataType::kS32});
      }
      break;
    case Pass::kBackwardData:
      if (max && execution.recomputes) {
        operands.push_back({Arg::kSrc, Direction::kIn, src_shape(), type, unread_});
      }
      operands.push_back({Arg::kDiffDst, Direction::kIn, dst_shape(), type});
      if (workspace) {
        operands.push_back({Arg::kWorkspace, Direction::kIn, dst_shape(), DataType::kS32});
      }
      operands.push_back({Arg::kDiffSrc, Direction::kOut, src_shape(), type});
      break;
    case Pass::kBackwardWeights:
      break;
  }
  return operands;
}

Arithmetic PoolOp::ArithmeticOf(const Execution& execution) const {
  if (execution.pass == Pass::kBackwardWeights) return {};
  const PoolExtents& e = extents_;
  const std::int64_t outputs = e.n * e.c * e.oh() * e.ow();
  const std::int64_t all = outputs * e.r * e.s;
  const std::int64_t inside = e.n * e.c * TapsInside(e.h, e.oh(), e.r, e.stride_h, e.pad_top) *
                              TapsInside(e.w, e.ow(), e.s, e.stride_w, e.pad_left);
  Arithmetic work;
  if (algorithm_ == PoolAlgorithm::kMax) {
    work.flops = execution.pass == Pass::kForward ? all : outputs;
    work.flops_without_padding = execution.pass == Pass::kForward ? inside : outputs;
  } else {
    work.flops = all + outputs;
    work.flops_without_padding = inside + outputs;
  }
  if (execution.pass == Pass::kBackwardData && MayRecompute(execution) && execution.recomputes) {
    work.flops += all;  // (only of maxima)
    *work.flops_without_padding += inside;
  }
  return work;
}

std::int64_t PoolOp::AccumulationLength(Pass pass) const {
  const PoolExtents& e = extents_;
  const bool chooses = algorithm_ == PoolAlgorithm::kMax;
  if (pass == Pass::kForward) return chooses ? 0 : e.r * e.s;
  const auto covering = [](std::int64_t kernel, std::int64_t stride) {
    return (kernel + stride - 1) / stride;
  };
  const std::int64_t windows = covering(e.r, e.stride_h) * covering(e.s, e.stride_w);
  return chooses && windows == 1 ? 0 : windows;
}

namespace {

std::shared_ptr<const Op> ParsePool(const ProblemWord& word) {
  PoolAlgorithm algorithm = PoolAlgorithm::kMax;
  for (const PoolAlgorithm known :
       {PoolAlgorithm::kMax, PoolAlgorithm::kAverage, PoolAlgorithm::kAverageOfPadding}) {
    if (word.name() == NameOf(known)) algorithm = known;
  }
  auto e = ReadImageAndWindow<PoolExtents>(word);
  e.ceil_mode = word.Flag("ceil");
  return std::make_shared<PoolOp>(algorithm, e);
}

const ProblemRegistration kPoolProblem("pool", ParsePool, {"max", "average", "average_of_padding"});

}  // namespace

}  // namespace topdnn
