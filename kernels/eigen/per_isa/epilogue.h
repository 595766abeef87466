// The end of a product or a convolution, applied to sums that are in the cache.

#ifndef TOPDNN_KERNELS_EIGEN_PER_ISA_EPILOGUE_H_
#define TOPDNN_KERNELS_EIGEN_PER_ISA_EPILOGUE_H_

#include <cstdint>

#include "kernels/eigen/operands.h"

namespace topdnn::eigen {

// Applies the epilogue's ReLU and bound, if any, to n values. This form keeps a NaN.
inline void Rectify(const Epilogue& epilogue, std::int64_t n, float* values) {
  if (epilogue.relu) {
    for (std::int64_t i = 0; i < n; ++i) values[i] = values[i] < 0.0F ? 0.0F : values[i];
  }
  if (const float bound = epilogue.bound; bound != 0.0F) {
    for (std::int64_t i = 0; i < n; ++i) values[i] = values[i] > bound ? bound : values[i];
  }
}

}  // namespace topdnn::eigen

#endif  // TOPDNN_KERNELS_EIGEN_PER_ISA_EPILOGUE_H_
