// Softmax cross-entropy with Eigen's arrays, row-major. The pool's threads share the rows.

#include "kernels/eigen/kernel.h"
#include "kernels/kernel/fidelity.h"
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
                              Scratch(), Data(Arg::kDiffSrc));
    double loss = 0;
    for (std::int64_t n = 0; n < n_; ++n) loss += static_cast<double>(Scratch()[n]);
    *Data(Arg::kLoss) = static_cast<float>(loss / static_cast<double>(n_));
  }

  const std::int64_t n_, k_;
};

KernelOrRefusal MakeEigenCrossEntropy(const eigen::Functions& functions, KernelRequest& request) {
  if (auto refusal = eigen::SettleAll(request, 2, Layout::Plain)) return *std::move(refusal);
  return eigen::Make<CrossEntropyEigen, SoftmaxCrossEntropyOp>(functions, request);
}

const eigen::Registration kEigenCrossEntropy("softmax_cross_entropy", MakeEigenCrossEntropy);
const FidelityDeclaration kEigenCrossEntropyFidelity(
    {"softmax_cross_entropy", "eigen", Fidelity::kOurs,
     "one loop over rows, shared by the threads, and the mean; TensorFlow evaluates six "
     "expressions over the whole matrix, which keep the logits' differences in the gradient's "
     "memory; the mean is another operation",
     "sparse_xent_op.h"});

}  // namespace

}  // namespace topdnn
