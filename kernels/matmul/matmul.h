// Products of matrices in the last two dimensions, with broadcast batches: ONNX's MatMul of tensors
// that the network computes. InnerProductOp (kernels/inner_product/) is the product of a matrix
// with trained weights.

#ifndef TOPDNN_KERNELS_MATMUL_MATMUL_H_
#define TOPDNN_KERNELS_MATMUL_MATMUL_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/eltwise/binary.h"
#include "kernels/op/op.h"

namespace topdnn {

// Operands: forward first (..., M, K), second (..., K, N) -> dst (..., M, N). Tensors that the
// network computes are src, or src_0 and src_1 when both are; a constant is the parameter
// `constant` in the role of weights. There is no backward pass.
class MatMulOp : public Op {
 public:
  // The dimensions before the last two are broadcast. Throws std::invalid_argument for extents that
  // do not match, extents below 1, different ranks, and fewer than two dimensions.
  MatMulOp(Shape first, Shape second, BinaryConstant constant);

  const Shape& first() const { return first_; }
  const Shape& second() const { return second_; }
  const Shape& dst() const { return dst_; }
  BinaryConstant constant() const { return constant_; }
  Arg first_arg() const;
  Arg second_arg() const;

  std::int64_t m() const { return first_[first_.rank() - 2]; }
  std::int64_t n() const { return second_[second_.rank() - 1]; }
  std::int64_t k() const { return first_[first_.rank() - 1]; }
  // Number of matrices of dst.
  std::int64_t batch() const { return dst_.elements() / (m() * n()); }
  // Matrix `b` of dst is the product of these two matrices: their numbers in the sources, from 0.
  std::int64_t FirstMatrix(std::int64_t b) const { return MatrixIn(first_, b); }
  std::int64_t SecondMatrix(std::int64_t b) const { return MatrixIn(second_, b); }

  std::string_view kind() const override { return "matmul"; }
  // "8x1x16x32_by8x4x32x64"; "_constant" follows when the second is one, "_of" when the first is.
  std::string Problem() const override;
  std::vector<Operand> Operands(const Execution& execution) const override;
  Arithmetic ArithmeticOf(const Execution& execution) const override;
  std::int64_t AccumulationLength(Pass /*pass*/) const override { return k(); }
  PlannerTraits Traits() const override { return {.layout_policy = LayoutPolicy::kPlain}; }
  std::vector<Parameter> Parameters() const override;

 private:
  std::int64_t MatrixIn(const Shape& source, std::int64_t b) const;

  Shape first_, second_, dst_;
  BinaryConstant constant_;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_MATMUL_MATMUL_H_
