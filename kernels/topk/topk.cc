#include "kernels/topk/topk.h"

#include <fmt/format.h>

#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "kernels/op/problem.h"
#include "kernels/tensor/extents.h"

namespace topdnn {

namespace {

Shape ChosenShape(const Shape& src, const TopKSettings& settings) {
  CheckExtents("topk", src);
  constexpr std::int64_t kMostIndices = std::int64_t{1} << 24;  // f32 represents them exactly
  const auto refuse = [&](std::string_view why) {
    throw std::invalid_argument(fmt::format("topk of {}, k {} on axis {}: {}", src.ToString(),
                                            settings.k, settings.axis, why));
  };
  if (settings.axis < 0 || settings.axis >= src.rank()) refuse("the axis is out of range");
  if (settings.k < 1 || settings.k > src[settings.axis]) refuse("k must be 1 to the extent");
  if (src[settings.axis] > kMostIndices) refuse("the extent must be at most 2^24");
  CheckWork("topk", {src.elements(), settings.k});
  std::vector<std::int64_t> extents = src.extents();
  extents[static_cast<std::size_t>(settings.axis)] = settings.k;
  return Shape(std::move(extents));
}

}  // namespace

TopKOp::TopKOp(Shape src, const TopKSettings& settings)
    : src_(std::move(src)), settings_(settings), dst_(ChosenShape(src_, settings_)) {}

std::int64_t TopKOp::stride() const {
  std::int64_t stride = 1;
  for (int d = settings_.axis + 1; d < src_.rank(); ++d) stride *= src_[d];
  return stride;
}

std::string TopKOp::Problem() const {
  return fmt::format("{}_axis{}_k{}{}{}", src_.ToString(), settings_.axis, settings_.k,
                     settings_.largest ? "" : "_smallest", settings_.indices ? "_indices" : "");
}

std::vector<Operand> TopKOp::Operands(const Execution& execution) const {
  if (execution.pass != Pass::kForward || !TypesOf(execution).has_gradients) return {};
  return {{Arg::kSrc, Direction::kIn, src_, execution.type},
          {Arg::kDst, Direction::kOut, dst_, execution.type}};
}

Arithmetic TopKOp::ArithmeticOf(const Execution& execution) const {
  if (!Has(execution)) return {};
  return {.flops = src_.elements() * settings_.k};
}

namespace {

std::shared_ptr<const Op> ParseTopK(const ProblemWord& word) {
  TopKSettings settings;
  settings.axis = word.WholeNumberOr("axis", 0);
  settings.k = word.WholeNumberOr("k", 1);
  settings.largest = !word.Flag("smallest");
  settings.indices = word.Flag("indices");
  return std::make_shared<TopKOp>(word.shape(), settings);
}

const ProblemRegistration kTopKProblem("topk", ParseTopK);

}  // namespace

}  // namespace topdnn
