// The shared part of the OpenBLAS backend's kernels.

#ifndef TOPDNN_KERNELS_LIBRARY_OPENBLAS_H_
#define TOPDNN_KERNELS_LIBRARY_OPENBLAS_H_

#include <cblas.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "kernels/kernel/bound_kernel.h"

namespace topdnn::openblas {

// Why OpenBLAS cannot serve the request: it computes in f32, on row-major tensors, by code that
// this CPU must have the instructions for. Empty when it can.
std::string RefusalOf(const KernelRequest& request);

// Why OpenBLAS is far slower here than this CPU allows, with the fix; empty when it is not.
// OpenBLAS recognizes a CPU by its model number. For a later model, 0.3.21 runs its SSE3 code for
// Prescott (driver/others/dynamic.c): inference of cnn takes 2.3 ms on an Emerald Rapids, 1.1 ms
// with the code for SkylakeX (batch 8, 2 threads).
std::string OldCodeDoubt();

// The same from what it depends on: the core that OpenBLAS chose, whether the user chose it, and
// WidestVectorIsa() (kernels/simd/vector_isa.h).
std::string OldCodeDoubt(std::string_view core, bool chosen_by_user, std::string_view widest);

// ISA of the kernels that OpenBLAS has for a core, in the spelling of Kernel::isa(). Empty for an
// unknown name.
std::string IsaOfCore(std::string_view core);

class OpenBlasKernel : public BoundKernel {
 protected:
  // The implementation is "ALGORITHM:openblas_SkylakeX": the code that OpenBLAS chose for this CPU.
  OpenBlasKernel(const KernelRequest& request, std::string_view algorithm);
};

// The maker of a KernelType for an OpType.
template <typename OpType, typename KernelType>
KernelOrRefusal Make(const KernelRequest& request) {
  if (std::string why = RefusalOf(request); !why.empty()) return Refusal{std::move(why)};
  return std::make_unique<KernelType>(request, request.OpAs<OpType>());
}

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

// y (m, or n if a is transposed) = a (m, n) * x + beta * y, row-major.
inline void Sgemv(bool transpose_a, std::int64_t m, std::int64_t n, const float* a, const float* x,
                  float beta, float* y) {
  cblas_sgemv(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans, static_cast<blasint>(m),
              static_cast<blasint>(n), 1.0F, a, static_cast<blasint>(n), x, 1, beta, y, 1);
}

}  // namespace topdnn::openblas

#endif  // TOPDNN_KERNELS_LIBRARY_OPENBLAS_H_
