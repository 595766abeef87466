#include "kernels/activation/clip.h"

#include <fmt/format.h>

#include <stdexcept>

#include "kernels/extents.h"
#include "kernels/problem.h"

namespace topdnn {

ClipOp::ClipOp(Shape shape, float lowest, float highest)
    : shape_(std::move(shape)), lowest_(lowest), highest_(highest) {
  CheckExtents("clip", shape_);
  if (!(lowest <= highest)) {
    throw std::invalid_argument(fmt::format(
        "clip to {}..{}: the lower bound must not exceed the upper one", lowest, highest));
  }
}

std::string ClipOp::Problem() const {
  return fmt::format("{}_min{}_max{}", shape_.ToString(), lowest_, highest_);
}

std::vector<Operand> ClipOp::Operands(const Execution& execution) const {
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

Work ClipOp::WorkOf(Pass pass, DataType type) const {
  if (pass == Pass::kBackwardWeights) return {};
  Work work;
  work.flops = 2 * shape_.elements();
  work.flops_without_padding = work.flops;
  work.bytes = CompulsoryBytes(*this, {pass, true, type});
  return work;
}

namespace {

std::shared_ptr<const Op> ParseClip(const ProblemWord& word) {
  return std::make_shared<ClipOp>(word.shape(), word.NumberOr("min", -1.0F),
                                  word.NumberOr("max", 1.0F));
}

const ProblemRegistration kProblem("clip", ParseClip);

}  // namespace

}  // namespace topdnn
