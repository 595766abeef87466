// Matrix products as contractions. For one row or one column Eigen uses its matrix-vector product,
// on one thread, as in TensorFlow's MatMul.

#include "kernels/eigen/per_isa/contraction.h"
#include "kernels/eigen/per_isa/table.h"

namespace topdnn::eigen {

namespace {

// A factor and the dimension of it that the product sums over.
struct Factor {
  ConstMatrix matrix;
  Index summed;
};

// A row-major matrix (rows, columns); the product sums over the columns.
Factor LeftFactor(const float* data, Index rows, Index columns, bool transposed) {
  if (transposed) return {ConstMatrix(data, rows, columns), 1};
  return {ConstMatrix(data, columns, rows), 0};
}

// A row-major matrix (rows, columns); the product sums over the rows.
Factor RightFactor(const float* data, Index rows, Index columns, bool transposed) {
  if (transposed) return {ConstMatrix(data, rows, columns), 0};
  return {ConstMatrix(data, columns, rows), 1};
}

void ComputeMatMul(Pool* pool, const MatMul& p) {
  const Factor a = LeftFactor(p.a, p.m, p.k, p.transpose_a);
  const Factor b = RightFactor(p.b, p.k, p.n, p.transpose_b);
  // Eigen's first dimension is innermost, so this computes c^T = b^T a^T. A c with one column is
  // computed without the transpose, because Eigen uses its matrix-vector product only when the
  // second dimension of the result has extent 1.
  const bool vector = p.n == 1;
  const Factor& left = vector ? a : b;
  const Factor& right = vector ? b : a;
  Matrix c(p.c, vector ? p.m : p.n, vector ? p.n : p.m);
  const auto product = left.matrix.contract(right.matrix, Sums{{{left.summed, right.summed}}},
                                            BlockEpilogue{p.alpha, p.epilogue, vector});
  if (p.beta == 0.0F) {
    c.device(pool->device) = product;
  } else {
    c.device(pool->device) = c * p.beta + product;
  }
}

const Entry kMatMul(&Functions::matmul, ComputeMatMul);

}  // namespace

}  // namespace topdnn::eigen
