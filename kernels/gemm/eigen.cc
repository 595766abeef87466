// General matrix multiplication as an Eigen contraction, one per matrix of the batch.

#include "kernels/eigen/kernel.h"
#include "kernels/gemm/gemm.h"
#include "kernels/kernel/fidelity.h"

namespace topdnn {

namespace {

class GemmEigen : public eigen::EigenKernel {
 public:
  GemmEigen(const KernelRequest& request, const eigen::Functions& functions, const GemmOp& op)
      : EigenKernel(request, functions, "matmul"),
        batch_(op.extents().batch),
        p_(ProductOf(op.extents(), request.execution.pass)),
        alpha_(op.extents().alpha),
        beta_(request.execution.pass == Pass::kForward ? op.extents().beta : 0.0F) {}

 private:
  void Compute() override {
    for (std::int64_t b = 0; b < batch_; ++b) {
      functions().matmul(pool(), {.m = p_.rows,
                                  .n = p_.columns,
                                  .k = p_.inner,
                                  .transpose_a = p_.trans_lhs,
                                  .transpose_b = p_.trans_rhs,
                                  .a = Data(p_.lhs) + b * p_.rows * p_.inner,
                                  .b = Data(p_.rhs) + b * p_.inner * p_.columns,
                                  .c = Data(p_.out) + b * p_.rows * p_.columns,
                                  .alpha = alpha_,
                                  .beta = beta_});
    }
  }

  const std::int64_t batch_;
  const GemmProduct p_;
  const float alpha_, beta_;
};

KernelOrRefusal MakeEigenGemm(const eigen::Functions& functions, KernelRequest& request) {
  for (const int rank : {2, 3}) {  // without and with a batch
    if (auto refusal = eigen::SettleAll(request, rank, Layout::Plain)) return *std::move(refusal);
  }
  return eigen::Make<GemmEigen, GemmOp>(functions, request);
}

const eigen::Registration kGemmEigen("gemm", MakeEigenGemm);
const FidelityDeclaration kGemmEigenFidelity(
    {"gemm", "eigen", Fidelity::kSame,
     "a contraction; `eigen-sgemm` copies the blocks that TensorFlow copies, but never transposes "
     "them (eigen_contraction_kernel.h)",
     "matmul_op.cc"});

}  // namespace

}  // namespace topdnn
