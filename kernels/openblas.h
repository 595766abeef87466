// The shared part of the OpenBLAS backend's kernels.

#ifndef TOPDNN_KERNELS_OPENBLAS_H_
#define TOPDNN_KERNELS_OPENBLAS_H_

#include <cblas.h>

#include <string>

#include "kernels/kernel.h"

namespace topdnn::openblas {

// Why OpenBLAS cannot serve the request: it computes in f32, on row-major tensors, by code that
// this CPU must have the instructions for. Empty when it can.
std::string RefusalOf(const KernelRequest& request);

// "openblas 0.3.21 SkylakeX": the kernels that OpenBLAS chose for this CPU.
std::string Implementation(const std::string& algorithm);
// ISA of those kernels, in the spelling of Kernel::isa(). Empty for an unknown core name.
std::string Isa();

// c (m, n) = alpha * a (m, k) * b (k, n) + beta * c, all row-major; a and b may be stored
// transposed.
inline void Sgemm(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n,
                  std::int64_t k, const float* a, const float* b, float beta, float* c,
                  float alpha = 1.0F) {
  const auto lda = static_cast<blasint>(transpose_a ? m : k);
  const auto ldb = static_cast<blasint>(transpose_b ? k : n);
  cblas_sgemm(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans,
              transpose_b ? CblasTrans : CblasNoTrans, static_cast<blasint>(m),
              static_cast<blasint>(n), static_cast<blasint>(k), alpha, a, lda, b, ldb, beta, c,
              static_cast<blasint>(n));
}

}  // namespace topdnn::openblas

#endif  // TOPDNN_KERNELS_OPENBLAS_H_
