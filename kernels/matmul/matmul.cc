#include "kernels/matmul/matmul.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

#include "kernels/op/problem.h"
#include "kernels/tensor/extents.h"

namespace topdnn {

namespace {

Shape ProductShape(const Shape& first, const Shape& second) {
  CheckExtents("matmul", first);
  CheckExtents("matmul", second);
  const int rank = first.rank();
  bool fits = rank >= 2 && second.rank() == rank && first[rank - 1] == second[rank - 2];
  std::vector<std::int64_t> extents;
  for (int d = 0; fits && d < rank - 2; ++d) {
    fits = first[d] == second[d] || first[d] == 1 || second[d] == 1;
    extents.push_back(std::max(first[d], second[d]));
  }
  if (!fits) {
    throw std::invalid_argument(fmt::format(
        "matmul of {} by {}: needs equal ranks of 2 or more, equal inner extents, and batches that "
        "are equal or 1",
        first.ToString(), second.ToString()));
  }
  extents.push_back(first[rank - 2]);
  extents.push_back(second[rank - 1]);
  Shape dst(std::move(extents));
  CheckExtents("matmul", dst);
  CheckWork("matmul", {dst.elements(), first[rank - 1]});
  return dst;
}

}  // namespace

MatMulOp::MatMulOp(Shape first, Shape second, BinaryConstant constant)
    : first_(std::move(first)),
      second_(std::move(second)),
      dst_(ProductShape(first_, second_)),
      constant_(constant) {}

Arg MatMulOp::first_arg() const {
  if (constant_ == BinaryConstant::kNone) return IndexedSrc(0);
  return constant_ == BinaryConstant::kFirst ? Arg::kWeights : Arg::kSrc;
}

Arg MatMulOp::second_arg() const {
  if (constant_ == BinaryConstant::kNone) return IndexedSrc(1);
  return constant_ == BinaryConstant::kSecond ? Arg::kWeights : Arg::kSrc;
}

std::int64_t MatMulOp::MatrixIn(const Shape& source, std::int64_t b) const {
  std::int64_t place = 0;
  std::int64_t stride = 1;
  for (int d = dst_.rank() - 3; d >= 0; --d) {
    if (source[d] != 1) place += b % dst_[d] * stride;
    stride *= source[d];
    b /= dst_[d];
  }
  return place;
}

std::string MatMulOp::Problem() const {
  const char* const suffix = constant_ == BinaryConstant::kNone    ? ""
                             : constant_ == BinaryConstant::kFirst ? "_of"
                                                                   : "_constant";
  return fmt::format("{}_by{}{}", first_.ToString(), second_.ToString(), suffix);
}

std::vector<Operand> MatMulOp::Operands(const Execution& execution) const {
  if (execution.pass != Pass::kForward || !TypesOf(execution).has_gradients) return {};
  const DataType type = execution.type;
  return {{first_arg(), Direction::kIn, first_, type},
          {second_arg(), Direction::kIn, second_, type},
          {Arg::kDst, Direction::kOut, dst_, type}};
}

Arithmetic MatMulOp::ArithmeticOf(const Execution& execution) const {
  if (!Has(execution)) return {};
  return OfProducts(dst_.elements() * k());
}

std::vector<Parameter> MatMulOp::Parameters() const {
  if (constant_ == BinaryConstant::kNone) return {};
  const Shape& shape = constant_ == BinaryConstant::kFirst ? first_ : second_;
  return {{Arg::kWeights, Arg::kDiffWeights, "constant", shape, k(), 1.0}};
}

namespace {

std::shared_ptr<const Op> ParseMatMul(const ProblemWord& word) {
  Shape second(word.WholeNumbers("by"));
  const BinaryConstant constant = word.Flag("of")         ? BinaryConstant::kFirst
                                  : word.Flag("constant") ? BinaryConstant::kSecond
                                                          : BinaryConstant::kNone;
  return std::make_shared<MatMulOp>(word.shape(), std::move(second), constant);
}

const ProblemRegistration kMatMulProblem("matmul", ParseMatMul);

}  // namespace

}  // namespace topdnn
