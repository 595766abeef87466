// Contractions of this library, with gebp or sgemm inside. An epilogue is applied to each block of
// the result while it is in the cache.

#ifndef TOPDNN_KERNELS_EIGEN_PER_ISA_CONTRACTION_H_
#define TOPDNN_KERNELS_EIGEN_PER_ISA_CONTRACTION_H_

#include "kernels/eigen/operands.h"
#include "kernels/eigen/per_isa/epilogue.h"
#include "kernels/eigen/per_isa/pool.h"
#include "kernels/eigen/per_isa/tensor.h"
#ifdef TOPDNN_EIGEN_SGEMM
#include "kernels/eigen/per_isa/sgemm_kernel.h"
#endif

namespace topdnn::eigen {

// The dimensions of the two factors that are summed.
using Sums = Eigen::array<Eigen::IndexPair<Index>, 1>;

// An output kernel (Eigen's term): result = relu(alpha * result + bias), with or without a bound.
struct BlockEpilogue {
  float alpha = 1.0F;
  Epilogue epilogue = {};
  bool bias_of_columns = false;  // true: bias per column, false: bias per row

  template <typename Mapper>
  void operator()(const Mapper& block, const Eigen::TensorContractionParams&, Index first_row,
                  Index first_column, Index rows, Index columns) const {
    if (alpha == 1.0F && epilogue.bias == nullptr && !epilogue.relu) return;
    for (Index j = 0; j < columns; ++j) {
      float* column = &block(0, j);
      if (epilogue.bias != nullptr && bias_of_columns) {
        const float bias = epilogue.bias[first_column + j];
        for (Index i = 0; i < rows; ++i) column[i] = alpha * column[i] + bias;
      } else if (epilogue.bias != nullptr) {
        const float* bias = epilogue.bias + first_row;
        for (Index i = 0; i < rows; ++i) column[i] = alpha * column[i] + bias[i];
      } else if (alpha != 1.0F) {
        for (Index i = 0; i < rows; ++i) column[i] *= alpha;
      }
      Rectify(epilogue, rows, column);
    }
  }
};

}  // namespace topdnn::eigen

#endif  // TOPDNN_KERNELS_EIGEN_PER_ISA_CONTRACTION_H_
