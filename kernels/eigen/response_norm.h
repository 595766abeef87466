// What the local response normalization of a library of Eigen code is given.

#ifndef TOPDNN_KERNELS_EIGEN_RESPONSE_NORM_H_
#define TOPDNN_KERNELS_EIGEN_RESPONSE_NORM_H_

#include <cstdint>

namespace topdnn::eigen {

// A local response normalization of rows (N*H*W) of channels: windows reach from `before` channels
// before one to `after` behind it; alpha is that of one term.
struct ResponseNorm {
  std::int64_t rows, channels, before, after;
  float alpha, beta, k;
  float* scratch;  // (2 * threads, C)
};

}  // namespace topdnn::eigen

#endif  // TOPDNN_KERNELS_EIGEN_RESPONSE_NORM_H_
