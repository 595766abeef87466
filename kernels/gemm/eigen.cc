// General matrix multiplication as an Eigen contraction, one per matrix of the batch.

#include "kernels/eigen/kernel.h"
#include "kernels/gemm/gemm.h"
#include "kernels/registry.h"

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

template <eigen::Variant kVariant>
KernelOrRefusal MakeGemm(const KernelRequest& request) {
  return eigen::Offer(
      kVariant, request,
      [&](const eigen::Functions& functions, KernelRequest settled) -> KernelOrRefusal {
        for (const Operand& operand : request.op->Operands(request.execution)) {
          const Layout row_major = Layout::Plain(operand.shape.rank());
          if (auto refusal = eigen::Settle(settled, operand.arg, {row_major.tag()})) {
            return *std::move(refusal);
          }
        }
        return std::make_unique<GemmEigen>(settled, functions,
                                           dynamic_cast<const GemmOp&>(*request.op));
      });
}

const KernelRegistration kGebp("gemm", "eigen", MakeGemm<eigen::Variant::kGebp>);
const KernelRegistration kSgemm("gemm", "eigen-sgemm", MakeGemm<eigen::Variant::kSgemm>);

}  // namespace

}  // namespace topdnn
