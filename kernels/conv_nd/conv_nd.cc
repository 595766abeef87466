#include "kernels/conv_nd/conv_nd.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

#include "kernels/tensor/extents.h"

namespace topdnn {

namespace {

std::int64_t ProductOf(const std::vector<SpatialAxis>& axes,
                       std::int64_t (*factor)(const SpatialAxis&)) {
  std::int64_t product = 1;
  for (const SpatialAxis& axis : axes) product *= factor(axis);
  return product;
}

std::int64_t Taps(const std::vector<SpatialAxis>& axes) {
  return ProductOf(axes, [](const SpatialAxis& axis) { return axis.kernel; });
}

std::int64_t Outputs(const std::vector<SpatialAxis>& axes) {
  return ProductOf(axes, [](const SpatialAxis& axis) { return axis.outputs(); });
}

constexpr const char* kConvNdName = "convolution over spatial axes";

void Check(const ConvNdExtents& e) {
  CheckAxes(kConvNdName, e.axes);
  if (std::min({e.n, e.c, e.k, e.groups}) < 1 || e.c % e.groups != 0 || e.k % e.groups != 0) {
    throw std::invalid_argument(
        fmt::format("{}: {} images, {} and {} channels in {} groups: each number must be 1 or "
                    "more, and the groups must divide the channels",
                    kConvNdName, e.n, e.c, e.k, e.groups));
  }
}

}  // namespace

ConvExtents ImageExtents(const ConvNdExtents& e) {
  const SpatialAxis &h = e.axes[0], &w = e.axes[1];
  return {.n = e.n,
          .c = e.c,
          .h = h.extent,
          .w = w.extent,
          .k = e.k,
          .r = h.kernel,
          .s = w.kernel,
          .stride_h = h.stride,
          .stride_w = w.stride,
          .pad_top = h.pad_before,
          .pad_left = w.pad_before,
          .pad_bottom = h.pad_after,
          .pad_right = w.pad_after,
          .dilation_h = h.dilation,
          .dilation_w = w.dilation,
          .groups = e.groups};
}

ConvNdOp::ConvNdOp(ConvNdExtents extents) : extents_(std::move(extents)) {
  const ConvNdExtents& e = extents_;
  Check(e);
  CheckExtents(kConvNdName, src_shape());
  CheckExtents(kConvNdName, weights_shape());
  CheckExtents(kConvNdName, dst_shape());
  CheckWork(kConvNdName, {dst_shape().elements(), e.c / e.groups, Taps(e.axes)});
  unread_ = src_shape().elements() - e.n * e.c * ProductOf(e.axes, [](const SpatialAxis& axis) {
                                       return axis.ElementsReadBy(axis.outputs());
                                     });
}

Shape ConvNdOp::src_shape() const {
  return SpatialShape(extents_.n, extents_.c, extents_.axes,
                      [](const SpatialAxis& axis) { return axis.extent; });
}

Shape ConvNdOp::weights_shape() const {
  return SpatialShape(extents_.k, extents_.c / extents_.groups, extents_.axes,
                      [](const SpatialAxis& axis) { return axis.kernel; });
}

Shape ConvNdOp::dst_shape() const {
  return SpatialShape(extents_.n, extents_.k, extents_.axes,
                      [](const SpatialAxis& axis) { return axis.outputs(); });
}

std::string ConvNdOp::Problem() const {
  return fmt::format("{}_to{}_groups{}{}", src_shape().ToString(), extents_.k, extents_.groups,
                     SpellAxes(extents_.axes));
}

std::vector<Operand> ConvNdOp::Operands(const Execution& execution) const {
  const OperandTypes types = TypesOf(execution);
  if (!types.has_gradients) return {};  // int8
  switch (execution.pass) {
    case Pass::kForward:
      return {{Arg::kSrc, Direction::kIn, src_shape(), types.src, unread_},
              {Arg::kWeights, Direction::kIn, weights_shape(), types.weights},
              {Arg::kDst, Direction::kOut, dst_shape(), types.dst}};
    case Pass::kBackwardData:
      return {{Arg::kDiffDst, Direction::kIn, dst_shape(), types.dst},
              {Arg::kWeights, Direction::kIn, weights_shape(), types.weights},
              {Arg::kDiffSrc, Direction::kOut, src_shape(), types.src}};
    case Pass::kBackwardWeights:
      return {{Arg::kSrc, Direction::kIn, src_shape(), types.src, unread_},
              {Arg::kDiffDst, Direction::kIn, dst_shape(), types.dst},
              {Arg::kDiffWeights, Direction::kOut, weights_shape(), types.parameter}};
  }
  return {};
}

Arithmetic ConvNdOp::ArithmeticOf(const Execution& /*execution*/) const {
  const ConvNdExtents& e = extents_;
  const std::int64_t pairs = e.n * e.k * (e.c / e.groups);
  Arithmetic work = OfProducts(pairs * Taps(e.axes) * Outputs(e.axes));
  work.flops_without_padding = 2 * pairs * ProductOf(e.axes, [](const SpatialAxis& axis) {
                                 return TapsInside(axis.extent, axis.outputs(), axis.kernel,
                                                   axis.stride, axis.pad_before, axis.dilation);
                               });
  return work;
}

std::int64_t ConvNdOp::AccumulationLength(Pass pass) const {
  const ConvNdExtents& e = extents_;
  switch (pass) {
    case Pass::kForward:
      return e.c / e.groups * Taps(e.axes);
    case Pass::kBackwardData:
      return e.k / e.groups * Taps(e.axes);
    case Pass::kBackwardWeights:
      return e.n * Outputs(e.axes);
  }
  return 1;
}

std::vector<Parameter> ConvNdOp::Parameters() const {
  return {{Arg::kWeights, Arg::kDiffWeights, "weights", weights_shape(),
           AccumulationLength(Pass::kForward), 0.0}};
}

namespace {

std::int64_t CountOf(const ProblemWord& word, std::string_view flag) {
  const std::vector<std::int64_t> numbers = word.WholeNumbers(flag);
  if (numbers.size() != 1) {
    throw std::invalid_argument(fmt::format("_{} needs one whole number", flag));
  }
  return numbers.front();
}

std::shared_ptr<const Op> ParseConvNd(const ProblemWord& word) {
  const Shape src = word.shape();
  ConvNdExtents e{.k = CountOf(word, "to"), .groups = CountOf(word, "groups")};
  e.axes = ReadAxes(word, src);
  e.n = src[0];
  e.c = src[1];
  return std::make_shared<ConvNdOp>(std::move(e));
}

const ProblemRegistration kConvNdProblem("conv_nd", ParseConvNd);

}  // namespace

}  // namespace topdnn
