// Updates of parameters as Eigen device expressions.

#include "kernels/eigen/kernel.h"
#include "kernels/kernel/fidelity.h"
#include "kernels/sgd/adam.h"
#include "kernels/sgd/sgd.h"

namespace topdnn {

namespace {

class SgdEigen : public eigen::EigenKernel {
 public:
  SgdEigen(const KernelRequest& request, const eigen::Functions& functions, const SgdOp& op)
      : EigenKernel(request, functions, "expression"), n_(op.size()), settings_(op.settings()) {}

 private:
  void Compute() override {
    functions().sgd(pool(), n_, *Data(Arg::kLearningRate), settings_.momentum,
                    settings_.weight_decay, Data(Arg::kDiffWeights), Data(Arg::kWeights),
                    Data(Arg::kMomentum));
  }

  const std::int64_t n_;
  const SgdSettings settings_;
};

class AdamEigen : public eigen::EigenKernel {
 public:
  AdamEigen(const KernelRequest& request, const eigen::Functions& functions, const AdamOp& op)
      : EigenKernel(request, functions, "expression"), n_(op.size()), settings_(op.settings()) {}

 private:
  void Compute() override {
    const std::int32_t step = ++*Data<std::int32_t>(Arg::kStep);
    const double rate =
        CorrectedRate(static_cast<double>(*Data(Arg::kLearningRate)), settings_, step);
    functions().adam(pool(), n_,
                     {static_cast<float>(rate), settings_.beta1, settings_.beta2, settings_.epsilon,
                      settings_.weight_decay},
                     Data(Arg::kDiffWeights), Data(Arg::kWeights), Data(Arg::kMomentum),
                     Data(Arg::kSecondMoment));
  }

  const std::int64_t n_;
  const AdamSettings settings_;
};

const eigen::Registration kSgd("sgd", eigen::Make<SgdEigen, SgdOp>);
const eigen::Registration kAdam("adam", eigen::Make<AdamEigen, AdamOp>);
const FidelityDeclaration kSgdEigenFidelity[] = {
    FidelityDeclaration({"sgd", "eigen", Fidelity::kSame, "expressions", "training_ops.cc"}),
    FidelityDeclaration(
        {"adam", "eigen", Fidelity::kSame, "three expressions a block", "training_ops.cc"}),
};

}  // namespace

}  // namespace topdnn
