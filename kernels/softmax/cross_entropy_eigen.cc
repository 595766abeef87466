// Softmax cross-entropy with Eigen's arrays, row-major. The pool's threads share the rows.

#include "kernels/eigen/kernel.h"
#include "kernels/registry.h"
#include "kernels/softmax/cross_entropy.h"

namespace topdnn {

namespace {

class CrossEntropyEigen : public eigen::EigenKernel {
 public:
  CrossEntropyEigen(const KernelRequest& request, const eigen::Functions& functions,
                    const SoftmaxCrossEntropyOp& op)
      : EigenKernel(request, functions, "expression"), n_(op.batch()), k_(op.classes()) {
    ReserveScratch(n_);
  }

 private:
  void Compute() override {
    functions().cross_entropy(pool(), n_, k_, Data(Arg::kSrc), Data<std::int32_t>(Arg::kLabels),
                              scratch(), Data(Arg::kDiffSrc));
    double loss = 0;
    for (std::int64_t n = 0; n < n_; ++n) loss += static_cast<double>(scratch()[n]);
    *Data(Arg::kLoss) = static_cast<float>(loss / static_cast<double>(n_));
  }

  const std::int64_t n_, k_;
};

template <eigen::Variant kVariant>
KernelOrRefusal MakeCrossEntropy(const KernelRequest& request) {
  return eigen::Offer(
      kVariant, request,
      [&](const eigen::Functions& functions, KernelRequest settled) -> KernelOrRefusal {
        for (const Arg arg : {Arg::kSrc, Arg::kDiffSrc}) {
          if (auto refusal = eigen::Settle(settled, arg, {"ab"})) return *std::move(refusal);
        }
        return std::make_unique<CrossEntropyEigen>(
            settled, functions, dynamic_cast<const SoftmaxCrossEntropyOp&>(*request.op));
      });
}

const KernelRegistration kGebp("softmax_cross_entropy", "eigen",
                               MakeCrossEntropy<eigen::Variant::kGebp>);
const KernelRegistration kSgemm("softmax_cross_entropy", "eigen-sgemm",
                                MakeCrossEntropy<eigen::Variant::kSgemm>);

}  // namespace

}  // namespace topdnn
