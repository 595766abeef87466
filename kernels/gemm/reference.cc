// General matrix multiplication as its definition: plain loops, sums in double.

#include "kernels/reference.h"

#include "kernels/gemm/gemm.h"
#include "kernels/registry.h"

namespace topdnn {

namespace {

template <typename T>
class GemmReference : public ReferenceKernel {
 public:
  GemmReference(const KernelRequest& request, const GemmOp& op)
      : ReferenceKernel(request),
        e_(op.extents()),
        p_(ProductOf(e_, request.execution.pass)),
        beta_(request.execution.pass == Pass::kForward ? static_cast<double>(e_.beta) : 0.0) {}

  void Run() noexcept override {
#pragma omp parallel for collapse(2)
    for (std::int64_t b = 0; b < e_.batch; ++b) {
      for (std::int64_t row = 0; row < p_.rows; ++row) Row(b, row);
    }
  }

 private:
  void Row(std::int64_t b, std::int64_t row) {
    const T* lhs = Data<T>(p_.lhs) + b * p_.rows * p_.inner;
    const T* rhs = Data<T>(p_.rhs) + b * p_.inner * p_.columns;
    T* out = Data<T>(p_.out) + (b * p_.rows + row) * p_.columns;
    for (std::int64_t column = 0; column < p_.columns; ++column) {
      double sum = 0;
      for (std::int64_t i = 0; i < p_.inner; ++i) {
        const T a = p_.trans_lhs ? lhs[i * p_.rows + row] : lhs[row * p_.inner + i];
        const T c = p_.trans_rhs ? rhs[column * p_.inner + i] : rhs[i * p_.columns + column];
        sum += static_cast<double>(a) * static_cast<double>(c);
      }
      sum *= static_cast<double>(e_.alpha);
      // With beta 0, C need not hold numbers (BLAS).
      if (beta_ != 0) sum += beta_ * static_cast<double>(out[column]);
      out[column] = static_cast<T>(sum);
    }
  }

  const GemmExtents e_;
  const GemmProduct p_;
  const double beta_;
};

KernelOrRefusal MakeGemm(const KernelRequest& request) {
  return MakeReference<GemmOp, GemmReference>(request);
}

const KernelRegistration kRegistration("gemm", "reference", MakeGemm);

}  // namespace

}  // namespace topdnn
