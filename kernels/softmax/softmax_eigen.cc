// Softmax as Eigen device expressions, row-major.

#include "kernels/eigen/kernel.h"
#include "kernels/registry.h"
#include "kernels/softmax/softmax.h"

namespace topdnn {

namespace {

class SoftmaxEigen : public eigen::EigenKernel {
 public:
  SoftmaxEigen(const KernelRequest& request, const eigen::Functions& functions, const SoftmaxOp& op)
      : EigenKernel(request, functions, "expression"),
        n_(op.batch()),
        k_(op.classes()),
        forward_(request.execution.pass == Pass::kForward) {}

 private:
  void Compute() override {
    if (forward_) {
      functions().softmax(pool(), n_, k_, Data(Arg::kSrc), Data(Arg::kDst));
    } else {
      functions().softmax_backward(pool(), n_, k_, Data(Arg::kDiffDst), Data(Arg::kDst),
                                   Data(Arg::kDiffSrc));
    }
  }

  const std::int64_t n_, k_;
  const bool forward_;
};

template <eigen::Variant kVariant>
KernelOrRefusal MakeSoftmax(const KernelRequest& request) {
  return eigen::Offer(
      kVariant, request,
      [&](const eigen::Functions& functions, KernelRequest settled) -> KernelOrRefusal {
        for (const Operand& operand : request.op->Operands(request.execution)) {
          if (auto refusal = eigen::Settle(settled, operand.arg, {"ab"})) {
            return *std::move(refusal);
          }
        }
        return std::make_unique<SoftmaxEigen>(settled, functions,
                                              dynamic_cast<const SoftmaxOp&>(*request.op));
      });
}

const KernelRegistration kGebp("softmax", "eigen", MakeSoftmax<eigen::Variant::kGebp>);
const KernelRegistration kSgemm("softmax", "eigen-sgemm", MakeSoftmax<eigen::Variant::kSgemm>);

}  // namespace

}  // namespace topdnn
