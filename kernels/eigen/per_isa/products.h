// The functions of a library that contain contractions, by file. They differ between the variants,
// and they take long to compile.

#ifndef TOPDNN_KERNELS_EIGEN_PER_ISA_PRODUCTS_H_
#define TOPDNN_KERNELS_EIGEN_PER_ISA_PRODUCTS_H_

#include "kernels/eigen/operands.h"

namespace topdnn::eigen {

// contraction_matmul.cc
void ComputeMatMul(Pool* pool, const MatMul& product);

// contraction_conv.cc
void ConvForward(Pool* pool, const Convolution& conv, const float* src, const float* weights,
                 const Epilogue& epilogue, float* dst);
void ConvBackwardWeights(Pool* pool, const Convolution& conv, const float* src,
                         const float* diff_dst, std::int64_t images, float* col,
                         float* diff_weights);
void ConvBackwardData(Pool* pool, const Convolution& conv, const float* diff_dst,
                      const float* weights, std::int64_t slots, float* col, float* diff_src);

}  // namespace topdnn::eigen

#endif  // TOPDNN_KERNELS_EIGEN_PER_ISA_PRODUCTS_H_
