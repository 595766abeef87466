// Products of matrices on OpenBLAS: one sgemm per matrix of the result.

#include "kernels/library/openblas.h"

#include "kernels/kernel/fidelity.h"
#include "kernels/kernel/registry.h"
#include "kernels/matmul/matmul.h"

namespace topdnn {

namespace {

class MatMulOpenBlas : public openblas::OpenBlasKernel {
 public:
  MatMulOpenBlas(const KernelRequest& request, const MatMulOp& op)
      : OpenBlasKernel(request, "gemm"), op_(op) {}

  void Run() noexcept override {
    const std::int64_t m = op_.m(), n = op_.n(), k = op_.k();
    for (std::int64_t b = 0; b < op_.batch(); ++b) {
      openblas::Sgemm(false, false, m, n, k, DataOf(op_.first_arg()) + op_.FirstMatrix(b) * m * k,
                      DataOf(op_.second_arg()) + op_.SecondMatrix(b) * k * n, 0.0F,
                      Data(Arg::kDst) + b * m * n);
    }
  }

 private:
  const MatMulOp op_;
};

const KernelRegistration kMatMulOpenBlas("matmul", "openblas",
                                         openblas::Make<MatMulOp, MatMulOpenBlas>);
const FidelityDeclaration kMatMulOpenBlasFidelity(
    {"matmul", "openblas", Fidelity::kOurs,
     "a call of sgemm for each matrix; Caffe has no such operation"});

}  // namespace

}  // namespace topdnn
