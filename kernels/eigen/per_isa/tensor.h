// Eigen's tensors on a thread pool, with the settings that every file of a library needs.

#ifndef TOPDNN_KERNELS_EIGEN_PER_ISA_TENSOR_H_
#define TOPDNN_KERNELS_EIGEN_PER_ISA_TENSOR_H_

#define EIGEN_USE_THREADS
// Only the pool creates threads: Eigen's matrix products must not use OpenMP.
#define EIGEN_DONT_PARALLELIZE
// Chooses the instance of a contraction's code by the contiguity of its factors. Eigen lets users
// define this macro. Here a single dimension is summed, which is never reordered, so half of the
// instances are not needed. That halves the compile time.
// NOLINTBEGIN(bugprone-macro-parentheses): METHOD is a template, and ARGS has parentheses.
#define TENSOR_CONTRACTION_DISPATCH(METHOD, ALIGNMENT, ARGS) \
  eigen_assert(!this->m_rhs_inner_dim_reordered);            \
  if (this->m_lhs_inner_dim_contiguous) {                    \
    if (this->m_rhs_inner_dim_contiguous) {                  \
      METHOD<true, true, false, ALIGNMENT> ARGS;             \
    } else {                                                 \
      METHOD<true, false, false, ALIGNMENT> ARGS;            \
    }                                                        \
  } else {                                                   \
    if (this->m_rhs_inner_dim_contiguous) {                  \
      METHOD<false, true, false, ALIGNMENT> ARGS;            \
    } else {                                                 \
      METHOD<false, false, false, ALIGNMENT> ARGS;           \
    }                                                        \
  }
// NOLINTEND(bugprone-macro-parentheses)
#include <unsupported/Eigen/CXX11/Tensor>

namespace topdnn::eigen {

using Index = Eigen::Index;

// Views of the caller's memory, first dimension innermost: a row-major matrix (m, n) is a
// Matrix(n, m), and an activation (N, H, W, C) is a tensor (C, W, H, N).
using Matrix = Eigen::TensorMap<Eigen::Tensor<float, 2, Eigen::ColMajor, Index>>;
using ConstMatrix = Eigen::TensorMap<Eigen::Tensor<const float, 2, Eigen::ColMajor, Index>>;
using Flat = Eigen::TensorMap<Eigen::Tensor<float, 1, Eigen::ColMajor, Index>>;
using ConstFlat = Eigen::TensorMap<Eigen::Tensor<const float, 1, Eigen::ColMajor, Index>>;

}  // namespace topdnn::eigen

#endif  // TOPDNN_KERNELS_EIGEN_PER_ISA_TENSOR_H_
