// General matrix multiplication as in BLAS, optionally batched: C = alpha A B + beta C, where A and
// B may be stored transposed; and its two gradients.

#ifndef TOPDNN_KERNELS_GEMM_GEMM_H_
#define TOPDNN_KERNELS_GEMM_GEMM_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/op/op.h"

namespace topdnn {

struct GemmExtents {
  std::int64_t m = 1, n = 1, k = 1;  // C is (M, N); K is summed
  std::int64_t batch = 1;            // independent products, outermost
  bool trans_a = false;              // A is stored as (K, M), else (M, K)
  bool trans_b = false;              // B is stored as (N, K), else (K, N)
  float alpha = 1.0F;
  float beta = 0.0F;  // 0: C is written without being read

  bool operator==(const GemmExtents&) const = default;
};

// Operands: forward src (A), weights (B) -> dst (C); backward_data diff_dst, weights -> diff_src;
// backward_weights src, diff_dst -> diff_weights. Shapes are as stored, with batch as the first
// extent when it is above 1. The gradients contain alpha; the term with beta has no gradient. In
// bf16 diff_weights stays f32, as in a convolution. In int8 (s8 or u8 times s8) dst is the exact
// s32 sum.
class GemmOp : public Op {
 public:
  // Throws std::invalid_argument, in one line, for extents below 1, a tensor that is too large, an
  // alpha or beta that is not finite, and a batch*M*N*K above 2^60.
  explicit GemmOp(const GemmExtents& extents);

  const GemmExtents& extents() const { return extents_; }

  std::string_view kind() const override { return "gemm"; }
  // "m1760n128k1760", "b12m64n64k64_tb_alpha0.5_beta1".
  std::string Problem() const override;
  std::vector<Operand> Operands(const Execution& execution) const override;
  // Multiply-accumulates batch*M*N*K in each pass. The scaling by alpha and beta is not counted.
  Arithmetic ArithmeticOf(const Execution& execution) const override;
  std::int64_t AccumulationLength(Pass pass) const override;
  PlannerTraits Traits() const override { return {.layout_policy = LayoutPolicy::kPlain}; }

  Shape src_shape() const;
  Shape weights_shape() const;
  Shape dst_shape() const;

 private:
  GemmExtents extents_;
};

// The matrix product of one pass: out (rows, columns) = lhs (rows, inner) * rhs (inner, columns),
// each operand stored as written or transposed. The gradient of a transposed A or B is computed in
// the stored order too: (X Y)^T = Y^T X^T.
struct GemmProduct {
  Arg lhs, rhs, out;
  bool trans_lhs, trans_rhs;
  std::int64_t rows, columns, inner;
};

GemmProduct ProductOf(const GemmExtents& extents, Pass pass);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_GEMM_GEMM_H_
