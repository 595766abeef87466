#include "kernels/logged/logged_primitive.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/tensor/extents.h"

namespace topdnn {

namespace {

bool IsProduct(const LoggedPrimitive& primitive) {
  return primitive.name == "convolution" || primitive.name == "deconvolution" ||
         primitive.name == "inner_product" || primitive.name == "matmul";
}

}  // namespace

LoggedOp::LoggedOp(LoggedPrimitive primitive, const Execution& execution)
    : primitive_(std::move(primitive)), execution_(execution) {
  for (const Operand& operand : primitive_.operands) CheckExtents(primitive_.name, operand.shape);
}

std::string LoggedOp::Problem() const {
  std::string text = fmt::format("{}_{}", primitive_.name, primitive_.problem);
  for (const std::string& part : {primitive_.algorithm, primitive_.attributes}) {
    if (!part.empty()) text += "_" + part;
  }
  std::replace(text.begin(), text.end(), ' ', '_');
  return text;
}

std::vector<Operand> LoggedOp::Operands(const Execution& execution) const {
  return execution.pass == execution_.pass ? primitive_.operands : std::vector<Operand>();
}

// The weights of one output: those of all inputs of its group.
std::int64_t LoggedOp::SumLength() const {
  for (const Operand& operand : primitive_.operands) {
    if (operand.arg != Arg::kWeights && operand.arg != Arg::kDiffWeights) continue;
    const Shape& weights = operand.shape;
    if (primitive_.name == "matmul") return weights[weights.rank() - 2];
    const bool grouped = primitive_.name != "inner_product" &&
                         static_cast<std::size_t>(weights.rank()) == primitive_.strides.size() + 3;
    return weights.elements() / weights[0] / (grouped ? weights[1] : 1);
  }
  return 1;
}

float LoggedOp::ScaleOfSums() const {
  constexpr double kOneProduct = 37 * 37;  // the deviation of two uniform numbers of 7 bits
  const double sums = kOneProduct * std::sqrt(static_cast<double>(SumLength()));
  return static_cast<float>(std::exp2(-std::ceil(std::log2(sums / 32))));
}

Arithmetic LoggedOp::ArithmeticOf(const Execution& execution) const {
  Arithmetic work;
  std::int64_t results = 0;
  std::int64_t products = 0;  // results of a forward pass
  std::int64_t pixels = 0;    // of src, without its channels
  std::int64_t weights = 0;
  for (const Operand& operand : Operands(execution)) {
    if (operand.direction != Direction::kIn) results += operand.shape.elements();
    if (operand.arg == Arg::kDst || operand.arg == Arg::kDiffDst) {
      products = operand.shape.elements();
    }
    if (operand.arg == Arg::kSrc || operand.arg == Arg::kDiffSrc) {
      pixels = operand.shape.elements() / (operand.shape.rank() > 1 ? operand.shape[1] : 1);
    }
    if (operand.arg == Arg::kWeights || operand.arg == Arg::kDiffWeights) {
      weights = operand.shape.elements();
    }
  }
  if (primitive_.inner_dst.rank() > 0) products = primitive_.inner_dst.elements();
  if (IsProduct(primitive_)) work.macs = products * SumLength();
  // Each element of src meets all weights of its channel.
  if (primitive_.name == "deconvolution") work.macs = pixels * weights;
  std::int64_t operations = IsProduct(primitive_) || primitive_.name == "shuffle" ? 0 : 1;
  for (const LoggedPostOp& one : primitive_.post_ops) {
    if (one.kind == LoggedPostOp::Kind::kDepthwise) {
      work.macs += 9 * results;  // a window of 3x3, the only one that is translated
    } else {
      ++operations;
    }
  }
  work.flops = 2 * work.macs + results * operations;
  return work;
}

std::shared_ptr<const Op> LoggedOp::OfFirstImage() const {
  if (execution_.pass != Pass::kForward) return nullptr;
  const auto one_of = [](const Shape& shape) {
    std::vector<std::int64_t> extents = shape.extents();
    extents[0] = 1;
    return Shape(std::move(extents));
  };
  LoggedPrimitive first = primitive_;
  for (Operand& operand : first.operands) {
    const bool image = operand.arg.role == Arg::kSrc || operand.arg == Arg::kDst;
    const bool matrices = primitive_.name == "matmul" && operand.shape.rank() > 2;
    if (image || matrices) operand.shape = one_of(operand.shape);
  }
  if (first.inner_dst.rank() > 0) first.inner_dst = one_of(first.inner_dst);
  return std::make_shared<LoggedOp>(std::move(first), execution_);
}

std::int64_t LoggedOp::AccumulationLength(Pass pass) const {
  if (primitive_.name == "shuffle") return 0;
  std::int64_t longest = SumLength();
  // A gradient of parameters is a sum over all elements.
  for (const Operand& operand : primitive_.operands) {
    if (pass != Pass::kForward) longest = std::max(longest, operand.shape.elements());
  }
  return longest;
}

}  // namespace topdnn
