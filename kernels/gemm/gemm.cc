#include "kernels/gemm/gemm.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>

#include "kernels/op/problem.h"
#include "kernels/tensor/extents.h"

namespace topdnn {

namespace {

Shape MatrixOf(const GemmExtents& e, bool transposed, std::int64_t rows, std::int64_t columns) {
  if (transposed) std::swap(rows, columns);
  return e.batch == 1 ? Shape{rows, columns} : Shape{e.batch, rows, columns};
}

}  // namespace

GemmOp::GemmOp(const GemmExtents& extents) : extents_(extents) {
  const GemmExtents& e = extents_;
  const auto refuse = [&](std::string_view why) {
    throw std::invalid_argument(
        fmt::format("gemm of {} x ({} x {} x {}): {}", e.batch, e.m, e.k, e.n, why));
  };
  if (std::min({e.m, e.n, e.k, e.batch}) < 1) refuse("every extent must be 1 or more");
  if (!std::isfinite(e.alpha) || !std::isfinite(e.beta)) refuse("alpha and beta must be finite");
  CheckExtents("gemm, A", src_shape());
  CheckExtents("gemm, B", weights_shape());
  CheckExtents("gemm, C", dst_shape());
  CheckWork("gemm", {e.batch, e.m, e.n, e.k});
}

std::string GemmOp::Problem() const {
  const GemmExtents& e = extents_;
  std::string problem = e.batch == 1 ? "" : fmt::format("b{}", e.batch);
  problem += fmt::format("m{}n{}k{}", e.m, e.n, e.k);
  if (e.trans_a) problem += "_ta";
  if (e.trans_b) problem += "_tb";
  if (e.alpha != 1.0F) problem += fmt::format("_alpha{}", e.alpha);
  if (e.beta != 0.0F) problem += fmt::format("_beta{}", e.beta);
  return problem;
}

Shape GemmOp::src_shape() const {
  return MatrixOf(extents_, extents_.trans_a, extents_.m, extents_.k);
}
Shape GemmOp::weights_shape() const {
  return MatrixOf(extents_, extents_.trans_b, extents_.k, extents_.n);
}
Shape GemmOp::dst_shape() const { return MatrixOf(extents_, false, extents_.m, extents_.n); }

std::vector<Operand> GemmOp::Operands(const Execution& execution) const {
  const OperandTypes types = TypesOf(execution);
  switch (execution.pass) {
    case Pass::kForward:
      return {{Arg::kSrc, Direction::kIn, src_shape(), types.src},
              {Arg::kWeights, Direction::kIn, weights_shape(), types.weights},
              {Arg::kDst, extents_.beta != 0.0F ? Direction::kInOut : Direction::kOut, dst_shape(),
               types.dst}};
    case Pass::kBackwardData:
      if (!types.has_gradients) return {};
      return {{Arg::kDiffDst, Direction::kIn, dst_shape(), types.dst},
              {Arg::kWeights, Direction::kIn, weights_shape(), types.weights},
              {Arg::kDiffSrc, Direction::kOut, src_shape(), types.src}};
    case Pass::kBackwardWeights:
      if (!types.has_gradients) return {};
      return {{Arg::kSrc, Direction::kIn, src_shape(), types.src},
              {Arg::kDiffDst, Direction::kIn, dst_shape(), types.dst},
              {Arg::kDiffWeights, Direction::kOut, weights_shape(), types.parameter}};
  }
  return {};
}

Arithmetic GemmOp::ArithmeticOf(const Execution& /*execution*/) const {
  const GemmExtents& e = extents_;
  return OfProducts(e.batch * e.m * e.n * e.k);
}

std::int64_t GemmOp::AccumulationLength(Pass pass) const { return ProductOf(extents_, pass).inner; }

GemmProduct ProductOf(const GemmExtents& e, Pass pass) {
  switch (pass) {
    case Pass::kBackwardData:
      if (e.trans_a) {
        return {Arg::kWeights, Arg::kDiffDst, Arg::kDiffSrc, e.trans_b, true, e.k, e.m, e.n};
      }
      return {Arg::kDiffDst, Arg::kWeights, Arg::kDiffSrc, false, !e.trans_b, e.m, e.k, e.n};
    case Pass::kBackwardWeights:
      if (e.trans_b) {
        return {Arg::kDiffDst, Arg::kSrc, Arg::kDiffWeights, true, e.trans_a, e.n, e.k, e.m};
      }
      return {Arg::kSrc, Arg::kDiffDst, Arg::kDiffWeights, !e.trans_a, false, e.k, e.n, e.m};
    case Pass::kForward:
      break;
  }
  return {Arg::kSrc, Arg::kWeights, Arg::kDst, e.trans_a, e.trans_b, e.m, e.n, e.k};
}

namespace {

std::shared_ptr<const Op> ParseGemm(const ProblemWord& word) {
  GemmExtents e;
  e.batch = word.FieldOr('b', 1);
  e.m = word.Field('m');
  e.n = word.Field('n');
  e.k = word.Field('k');
  e.trans_a = word.Flag("ta");
  e.trans_b = word.Flag("tb");
  e.alpha = word.NumberOr("alpha", 1.0F);
  e.beta = word.NumberOr("beta", 0.0F);
  return std::make_shared<GemmOp>(e);
}

const ProblemRegistration kGemmProblem("gemm", ParseGemm);

}  // namespace

}  // namespace topdnn
