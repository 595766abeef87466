// General matrix multiplication on OpenBLAS: one sgemm per matrix of the batch.

#include "kernels/library/openblas.h"

#include "kernels/gemm/gemm.h"
#include "kernels/kernel/fidelity.h"
#include "kernels/kernel/registry.h"

namespace topdnn {

namespace {

class GemmOpenBlas : public openblas::OpenBlasKernel {
 public:
  GemmOpenBlas(const KernelRequest& request, const GemmOp& op)
      : OpenBlasKernel(request, "gemm"),
        e_(op.extents()),
        p_(ProductOf(e_, request.execution.pass)),
        beta_(request.execution.pass == Pass::kForward ? e_.beta : 0.0F) {}

  void Run() noexcept override {
    for (std::int64_t b = 0; b < e_.batch; ++b) {
      openblas::Sgemm(p_.trans_lhs, p_.trans_rhs, p_.rows, p_.columns, p_.inner,
                      Data(p_.lhs) + b * p_.rows * p_.inner,
                      Data(p_.rhs) + b * p_.inner * p_.columns, beta_,
                      Data(p_.out) + b * p_.rows * p_.columns, e_.alpha);
    }
  }

 private:
  const GemmExtents e_;
  const GemmProduct p_;
  const float beta_;
};

const KernelRegistration kGemmOpenBlas("gemm", "openblas", openblas::Make<GemmOp, GemmOpenBlas>);
const FidelityDeclaration kGemmOpenBlasFidelity({"gemm", "openblas", Fidelity::kSame,
                                                 "one call of sgemm", "util/math_functions.cpp"});

}  // namespace

}  // namespace topdnn
