#include "kernels/activation/clip.h"

#include <fmt/format.h>

#include <stdexcept>

#include "kernels/op/problem.h"
#include "kernels/tensor/extents.h"

namespace topdnn {

ClipOp::ClipOp(Shape shape, float lowest, float highest)
    : ActivationOp(std::move(shape)), lowest_(lowest), highest_(highest) {
  CheckExtents("clip", this->shape());
  if (!(lowest <= highest)) {
    throw std::invalid_argument(
        fmt::format("clip to {}..{}: the bounds must be numbers, and the lower one must not exceed "
                    "the upper one",
                    lowest, highest));
  }
}

std::string ClipOp::Problem() const {
  return fmt::format("{}_min{}_max{}", shape().ToString(), lowest_, highest_);
}

namespace {

std::shared_ptr<const Op> ParseClip(const ProblemWord& word) {
  return std::make_shared<ClipOp>(word.shape(), word.NumberOr("min", -1.0F),
                                  word.NumberOr("max", 1.0F));
}

const ProblemRegistration kClipProblem("clip", ParseClip);

}  // namespace

}  // namespace topdnn
