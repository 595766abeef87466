#include "kernels/concat/concat.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <stdexcept>
#include <utility>
#include <vector>

#include "kernels/op/problem.h"
#include "kernels/tensor/extents.h"

namespace topdnn {

namespace {

// The result's shape. Throws std::invalid_argument.
Shape Concatenated(const std::vector<Shape>& sources, int axis) {
  const auto refuse = [&](const std::string& why) {
    throw std::invalid_argument(
        fmt::format("concat of {} tensors along axis {}: {}", sources.size(), axis, why));
  };
  if (sources.empty() || sources.size() > kMaxSources)
    refuse(fmt::format("1 to {} are supported", kMaxSources));
  const Shape& first = sources.front();
  if (axis < 0 || axis >= first.rank()) refuse(first.ToString() + " has no such axis");
  std::vector<std::int64_t> extents = first.extents();
  extents[static_cast<std::size_t>(axis)] = 0;
  for (const Shape& source : sources) {
    CheckExtents("concat", source);
    bool fits = source.rank() == first.rank();
    for (int d = 0; fits && d < first.rank(); ++d) fits = d == axis || source[d] == first[d];
    if (!fits) {
      refuse(fmt::format("{} and {} must be equal in all other axes", first.ToString(),
                         source.ToString()));
    }
    extents[static_cast<std::size_t>(axis)] += source[axis];
  }
  Shape dst(std::move(extents));
  CheckExtents("concat to a result", dst);
  return dst;
}

}  // namespace

ConcatOp::ConcatOp(std::vector<Shape> sources, int axis)
    : sources_(std::move(sources)), axis_(axis), dst_(Concatenated(sources_, axis)) {}

std::int64_t ConcatOp::OffsetOf(int i) const {
  std::int64_t offset = 0;
  for (int s = 0; s < i; ++s) offset += sources_[static_cast<std::size_t>(s)][axis_];
  return offset;
}

std::string ConcatOp::Problem() const {
  std::vector<std::int64_t> parts;
  for (const Shape& source : sources_) parts.push_back(source[axis_]);
  return fmt::format("{}_axis{}_parts{}", dst_shape().ToString(), axis_, fmt::join(parts, "x"));
}

std::vector<Operand> ConcatOp::Operands(const Execution& execution) const {
  const bool forward = execution.pass == Pass::kForward;
  if (execution.pass == Pass::kBackwardWeights) return {};
  std::vector<Operand> operands;
  if (!forward) operands.push_back({Arg::kDiffDst, Direction::kIn, dst_, execution.type});
  for (int i = 0; i < static_cast<int>(sources_.size()); ++i) {
    operands.push_back({forward ? IndexedSrc(i) : IndexedDiffSrc(i),
                        forward ? Direction::kIn : Direction::kOut,
                        sources_[static_cast<std::size_t>(i)], execution.type});
  }
  if (forward) operands.push_back({Arg::kDst, Direction::kOut, dst_, execution.type});
  return operands;
}

PlannerTraits ConcatOp::Traits() const {
  ConcatRows rows(*this);
  if (rows.outer != 1) return {};
  return {.source_places = std::move(rows.starts)};
}

ConcatRows::ConcatRows(const ConcatOp& op) {
  for (int d = 0; d < op.axis(); ++d) outer *= op.dst_shape()[d];
  for (int d = op.axis() + 1; d < op.dst_shape().rank(); ++d) inner *= op.dst_shape()[d];
  for (const Shape& source : op.sources()) {
    starts.push_back(dst_length);
    lengths.push_back(source[op.axis()] * inner);
    dst_length += lengths.back();
  }
}

namespace {

std::shared_ptr<const Op> ParseConcat(const ProblemWord& word) {
  const Shape whole = word.shape();
  const int axis = word.WholeNumberOr("axis", 1);
  if (axis < 0 || axis >= whole.rank()) throw std::invalid_argument("the axis does not exist");
  std::vector<Shape> sources;
  for (const std::int64_t part : word.WholeNumbers("parts")) {
    std::vector<std::int64_t> extents = whole.extents();
    extents[static_cast<std::size_t>(axis)] = part;
    sources.emplace_back(std::move(extents));
  }
  auto op = std::make_shared<ConcatOp>(std::move(sources), axis);
  if (op->dst_shape() != whole) {
    throw std::invalid_argument(
        fmt::format("the parts sum to {}, not {}", op->dst_shape().ToString(), whole.ToString()));
  }
  return op;
}

const ProblemRegistration kConcatProblem("concat", ParseConcat);

}  // namespace

}  // namespace topdnn
