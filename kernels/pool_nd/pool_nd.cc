#include "kernels/pool_nd/pool_nd.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>
#include <utility>

#include "kernels/tensor/extents.h"

namespace topdnn {

namespace {

constexpr std::array<std::string_view, 4> kPoolNdNames = {"max", "average", "average_of_padding",
                                                          "lp"};
constexpr const char* kPoolNdName = "pooling over spatial axes";
constexpr std::int64_t kMaxPower = 1000;

void CheckWindows(const PoolNdExtents& e) {
  CheckAxes(kPoolNdName, e.axes);
  for (const SpatialAxis& axis : e.axes) {
    // Required: a window that starts in the padding reaches the image, and the gaps between its
    // taps are narrower than the image.
    const bool gap = axis.pad_before > 0 && axis.kernel > 1 && axis.dilation > axis.extent;
    const std::int64_t last = axis.Start(PooledExtent(axis, e.ceil_mode) - 1);
    if (gap || axis.pad_before >= axis.reach() || last >= axis.extent) {
      throw std::invalid_argument(fmt::format(
          "{} by windows of {} with dilation {} and padding {} and {} of {} elements: "
          "each window must read the image",
          kPoolNdName, axis.kernel, axis.dilation, axis.pad_before, axis.pad_after, axis.extent));
    }
  }
}

std::int64_t Taps(const std::vector<SpatialAxis>& axes) {
  std::int64_t taps = 1;
  for (const SpatialAxis& axis : axes) taps *= axis.kernel;
  return taps;
}

}  // namespace

std::string_view NameOf(PoolNdAlgorithm algorithm) {
  return kPoolNdNames[static_cast<std::size_t>(algorithm)];
}

std::int64_t PooledExtent(const SpatialAxis& axis, bool ceil_mode) {
  if (!ceil_mode) return axis.outputs();
  const std::int64_t room = axis.extent + axis.pad_before + axis.pad_after - axis.reach();
  const std::int64_t outputs = (room + axis.stride - 1) / axis.stride + 1;
  // A window that covers only trailing padding does not count.
  return axis.Start(outputs - 1) >= axis.extent ? outputs - 1 : outputs;
}

PooledTaps TapsAt(const SpatialAxis& axis, std::int64_t output) {
  const std::int64_t start = axis.Start(output);
  // Number of taps before position `at`.
  const auto before = [&](std::int64_t at) {
    const std::int64_t length = at - start;
    return length <= 0 ? 0 : std::min((length - 1) / axis.dilation + 1, axis.kernel);
  };
  return {before(0), before(axis.extent), before(axis.extent + axis.pad_after)};
}

PoolNdOp::PoolNdOp(PoolNdAlgorithm algorithm, PoolNdExtents extents)
    : algorithm_(algorithm), extents_(std::move(extents)) {
  CheckWindows(extents_);
  if (extents_.p < 1 || extents_.p > kMaxPower) {
    throw std::invalid_argument(
        fmt::format("{} by a norm of {}: it must be 1 to {}", kPoolNdName, extents_.p, kMaxPower));
  }
  CheckExtents(kPoolNdName, src_shape());
  CheckExtents(kPoolNdName, dst_shape());
  std::int64_t taps = 1;
  for (const SpatialAxis& axis : extents_.axes) {
    CheckWork(kPoolNdName, {taps, axis.kernel});
    taps *= axis.kernel;
  }
  CheckWork(kPoolNdName, {dst_shape().elements(), taps});
  std::int64_t read = extents_.n * extents_.c;
  for (const SpatialAxis& axis : extents_.axes) {
    read *= axis.ElementsReadBy(PooledExtent(axis, extents_.ceil_mode));
  }
  unread_ = src_shape().elements() - read;
}

Shape PoolNdOp::src_shape() const {
  return SpatialShape(extents_.n, extents_.c, extents_.axes,
                      [](const SpatialAxis& axis) { return axis.extent; });
}

Shape PoolNdOp::dst_shape() const {
  return SpatialShape(extents_.n, extents_.c, extents_.axes, [&](const SpatialAxis& axis) {
    return PooledExtent(axis, extents_.ceil_mode);
  });
}

std::string PoolNdOp::Problem() const {
  std::string problem =
      fmt::format("{}{}{}", NameOf(algorithm_), src_shape().ToString(), SpellAxes(extents_.axes));
  if (algorithm_ == PoolNdAlgorithm::kLp) problem += fmt::format("_p{}", extents_.p);
  if (extents_.ceil_mode) problem += "_ceil";
  return problem;
}

std::vector<Operand> PoolNdOp::Operands(const Execution& execution) const {
  if (execution.pass != Pass::kForward || !TypesOf(execution).has_gradients) return {};
  std::vector<Operand> operands = UnaryOperands(execution, src_shape(), dst_shape());
  operands.front().unread = unread_;
  return operands;
}

Arithmetic PoolNdOp::ArithmeticOf(const Execution& execution) const {
  if (!Has(execution)) return {};
  const std::int64_t each = algorithm_ == PoolNdAlgorithm::kLp ? 2 : 1;
  const std::int64_t outputs = dst_shape().elements();
  const std::int64_t last = algorithm_ == PoolNdAlgorithm::kMax ? 0 : outputs;  // division or root
  Arithmetic work;
  work.flops = each * outputs * Taps(extents_.axes) + last;
  std::int64_t inside = each * extents_.n * extents_.c;
  for (const SpatialAxis& axis : extents_.axes) {
    inside *= TapsInside(axis.extent, PooledExtent(axis, extents_.ceil_mode), axis.kernel,
                         axis.stride, axis.pad_before, axis.dilation);
  }
  work.flops_without_padding = inside + last;
  return work;
}

std::int64_t PoolNdOp::AccumulationLength(Pass /*pass*/) const {
  return algorithm_ == PoolNdAlgorithm::kMax ? 0 : Taps(extents_.axes);
}

namespace {

std::shared_ptr<const Op> ParsePoolNd(const ProblemWord& word) {
  PoolNdAlgorithm algorithm = PoolNdAlgorithm::kMax;
  for (std::size_t i = 0; i < kPoolNdNames.size(); ++i) {
    if (word.name() == kPoolNdNames[i]) algorithm = static_cast<PoolNdAlgorithm>(i);
  }
  const Shape src = word.shape();
  PoolNdExtents e{.axes = ReadAxes(word, src), .ceil_mode = word.Flag("ceil")};
  e.n = src[0];
  e.c = src[1];
  if (algorithm == PoolNdAlgorithm::kLp) e.p = word.WholeNumberOr("p", 2);
  return std::make_shared<PoolNdOp>(algorithm, std::move(e));
}

const ProblemRegistration kPoolNdProblem("pool_nd", ParsePoolNd,
                                         {"max", "average", "average_of_padding", "lp"});

}  // namespace

}  // namespace topdnn
