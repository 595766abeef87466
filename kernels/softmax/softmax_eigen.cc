// Softmax as Eigen device expressions, row-major.

#include "kernels/eigen/kernel.h"
#include "kernels/kernel/fidelity.h"
#include "kernels/softmax/softmax.h"

namespace topdnn {

namespace {

class SoftmaxEigen : public eigen::EigenKernel {
 public:
  SoftmaxEigen(const KernelRequest& request, const eigen::Functions& functions, const SoftmaxOp& op)
      : EigenKernel(request, functions, "expression"), n_(op.batch()), k_(op.classes()) {}

 private:
  void Compute() override {
    if (forward()) {
      functions().softmax(pool(), n_, k_, Data(Arg::kSrc), Data(Arg::kDst));
    } else {
      functions().softmax_backward(pool(), n_, k_, Data(Arg::kDiffDst), Data(Arg::kDst),
                                   Data(Arg::kDiffSrc));
    }
  }

  const std::int64_t n_, k_;
};

KernelOrRefusal MakeEigenSoftmax(const eigen::Functions& functions, KernelRequest& request) {
  if (auto refusal = eigen::SettleAll(request, 2, Layout::Plain)) return *std::move(refusal);
  return eigen::Make<SoftmaxEigen, SoftmaxOp>(functions, request);
}

const eigen::Registration kEigenSoftmax("softmax", MakeEigenSoftmax);
const FidelityDeclaration kEigenSoftmaxFidelity[] = {
    FidelityDeclaration({"softmax",
                         "eigen",
                         Fidelity::kSame,
                         "two expressions: exp(src - maximum), then times the inverse of the sum",
                         "softmax_op_functor.h",
                         {Pass::kForward}}),
    FidelityDeclaration({"softmax",
                         "eigen",
                         Fidelity::kOurs,
                         "one expression; TensorFlow composes it of four operations",
                         "tensorflow/python/ops/nn_grad.py",
                         {Pass::kBackwardData}}),
};

}  // namespace

}  // namespace topdnn
