#include "kernels/resize/resize.h"

#include <fmt/format.h>

#include <memory>
#include <stdexcept>

#include "kernels/op/problem.h"
#include "kernels/tensor/extents.h"

namespace topdnn {

namespace {

Shape Resized(const Shape& src, std::int64_t scale_h, std::int64_t scale_w) {
  CheckExtents("resize", src);
  if (src.rank() != 4 || scale_h < 1 || scale_w < 1 || scale_h > kMaxElements ||
      scale_w > kMaxElements || src[2] > kMaxElements / scale_h ||
      src[3] > kMaxElements / scale_w) {
    throw std::invalid_argument(
        fmt::format("resize of {} by {} and {}: it needs (N, C, H, W) and whole factors of 1 or "
                    "more that leave at most {} elements",
                    src.ToString(), scale_h, scale_w, kMaxElements));
  }
  Shape dst{src[0], src[1], src[2] * scale_h, src[3] * scale_w};
  CheckExtents("resize to a result", dst);
  return dst;
}

}  // namespace

ResizeOp::ResizeOp(Shape src, std::int64_t scale_h, std::int64_t scale_w)
    : src_(std::move(src)),
      scale_h_(scale_h),
      scale_w_(scale_w),
      dst_(Resized(src_, scale_h, scale_w)) {}

std::string ResizeOp::Problem() const {
  return fmt::format("{}_scale{}x{}", src_.ToString(), scale_h_, scale_w_);
}

std::vector<Operand> ResizeOp::Operands(const Execution& execution) const {
  if (execution.pass != Pass::kForward && !TypesOf(execution).has_gradients) return {};
  return UnaryOperands(execution, src_, dst_);
}

Arithmetic ResizeOp::ArithmeticOf(const Execution& execution) const {
  return {.flops = execution.pass == Pass::kBackwardData ? dst_.elements() : 0};
}

namespace {

std::shared_ptr<const Op> ParseResize(const ProblemWord& word) {
  const std::vector<std::int64_t> scales = word.WholeNumbers("scale");
  if (scales.size() != 2) {
    throw std::invalid_argument("write two whole factors, such as _scale2x2");
  }
  return std::make_shared<ResizeOp>(word.shape(), scales[0], scales[1]);
}

const ProblemRegistration kProblem("resize", ParseResize);

}  // namespace

}  // namespace topdnn
