#include "kernels/slice/slice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <stdexcept>

#include "kernels/op/problem.h"
#include "kernels/tensor/extents.h"

namespace topdnn {

namespace {

Shape SlicedShape(const Shape& src, const std::vector<SliceAxis>& axes) {
  CheckExtents("slice", src);
  if (axes.size() != static_cast<std::size_t>(src.rank())) {
    throw std::invalid_argument(fmt::format(
        "slice of {} by {} axes: it needs one for each dimension", src.ToString(), axes.size()));
  }
  std::vector<std::int64_t> extents;
  extents.reserve(axes.size());
  for (const SliceAxis& axis : axes) extents.push_back(axis.extent);
  Shape dst(std::move(extents));
  CheckExtents("slice", dst);
  return dst;
}

// The names of the borders in a problem; the fill value has a number.
constexpr const char* kEdgeFlag = "edge";
constexpr const char* kReflectFlag = "reflect";
constexpr const char* kWrapFlag = "wrap";

}  // namespace

SliceOp::SliceOp(Shape src, std::vector<SliceAxis> axes, SliceBorder border, float fill)
    : src_(std::move(src)),
      axes_(std::move(axes)),
      border_(border),
      fill_(border == SliceBorder::kFill ? fill : 0.0F),
      dst_(SlicedShape(src_, axes_)) {
  if (!std::isfinite(fill_)) {
    throw std::invalid_argument(
        fmt::format("slice with the fill value {}: it must be finite", fill_));
  }
  for (int d = 0; d < src_.rank(); ++d) {
    const SliceAxis& axis = axes_[static_cast<std::size_t>(d)];
    std::int64_t last = 0;
    const bool overflows = __builtin_mul_overflow(axis.step, axis.extent - 1, &last) ||
                           __builtin_add_overflow(last, axis.start, &last) ||
                           std::abs(axis.start) > kMaxElements || std::abs(last) > kMaxElements;
    const auto inside = [&](std::int64_t i) { return i >= 0 && i < src_[d]; };
    if (overflows || (border == SliceBorder::kNone && !(inside(axis.start) && inside(last)))) {
      throw std::invalid_argument(
          fmt::format("slice of {} from {} by {} to {} elements in dimension {}: an index is "
                      "outside",
                      src_.ToString(), axis.start, axis.step, axis.extent, d));
    }
  }
}

std::int64_t SliceOp::SourceOf(int d, std::int64_t i) const {
  const SliceAxis& axis = axes_[static_cast<std::size_t>(d)];
  const std::int64_t at = axis.start + i * axis.step;
  const std::int64_t extent = src_[d];
  if (at >= 0 && at < extent) return at;
  switch (border_) {
    case SliceBorder::kEdge:
      return std::clamp<std::int64_t>(at, 0, extent - 1);
    case SliceBorder::kReflect: {
      if (extent == 1) return 0;
      const std::int64_t period = 2 * (extent - 1);
      const std::int64_t folded = (at % period + period) % period;
      return std::min(folded, period - folded);
    }
    case SliceBorder::kWrap:
      return (at % extent + extent) % extent;
    case SliceBorder::kNone:
    case SliceBorder::kFill:
      break;
  }
  return -1;
}

bool SliceOp::Repeats() const {
  return (border_ != SliceBorder::kNone && border_ != SliceBorder::kFill) ||
         std::any_of(axes_.begin(), axes_.end(),
                     [](const SliceAxis& axis) { return axis.step == 0 && axis.extent > 1; });
}

std::string SliceOp::Problem() const {
  std::vector<std::int64_t> starts, steps;
  for (const SliceAxis& axis : axes_) {
    starts.push_back(axis.start);
    steps.push_back(axis.step);
  }
  std::string problem = fmt::format("{}_start{}_step{}_extent{}", src_.ToString(),
                                    fmt::join(starts, "x"), fmt::join(steps, "x"), dst_.ToString());
  if (border_ == SliceBorder::kFill) problem += fmt::format("_fill{}", fill_);
  if (border_ == SliceBorder::kEdge) problem += fmt::format("_{}", kEdgeFlag);
  if (border_ == SliceBorder::kReflect) problem += fmt::format("_{}", kReflectFlag);
  if (border_ == SliceBorder::kWrap) problem += fmt::format("_{}", kWrapFlag);
  return problem;
}

std::vector<Operand> SliceOp::Operands(const Execution& execution) const {
  if (!TypesOf(execution).has_gradients) return {};  // int8
  std::vector<Operand> operands = UnaryOperands(execution, src_, dst_);
  if (execution.pass == Pass::kForward) {
    std::int64_t read = 1;  // with a border: at most
    for (int d = 0; d < src_.rank(); ++d) {
      const SliceAxis& axis = axes_[static_cast<std::size_t>(d)];
      read *= axis.step == 0 ? 1 : std::min(src_[d], axis.extent);
    }
    operands[0].unread = src_.elements() - read;
  }
  return operands;
}

Arithmetic SliceOp::ArithmeticOf(const Execution& execution) const {
  return {.flops = execution.pass == Pass::kBackwardData ? dst_.elements() : 0};
}

namespace {

std::shared_ptr<const Op> ParseSlice(const ProblemWord& word) {
  const std::vector<std::int64_t> starts = word.WholeNumbers("start"),
                                  steps = word.WholeNumbers("step"),
                                  extents = word.WholeNumbers("extent");
  if (starts.size() != extents.size() || steps.size() != extents.size()) {
    throw std::invalid_argument("give a start, a step and an extent for each dimension");
  }
  std::vector<SliceAxis> axes;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    axes.push_back({starts[d], steps[d], extents[d]});
  }
  const SliceBorder border = word.Has("fill")          ? SliceBorder::kFill
                             : word.Flag(kEdgeFlag)    ? SliceBorder::kEdge
                             : word.Flag(kReflectFlag) ? SliceBorder::kReflect
                             : word.Flag(kWrapFlag)    ? SliceBorder::kWrap
                                                       : SliceBorder::kNone;
  return std::make_shared<SliceOp>(word.shape(), std::move(axes), border,
                                   word.NumberOr("fill", 0.0F));
}

const ProblemRegistration kSliceProblem("slice", ParseSlice);

}  // namespace

}  // namespace topdnn
