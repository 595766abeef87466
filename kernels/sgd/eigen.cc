// Updates of parameters as Eigen device expressions.

#include "kernels/eigen/kernel.h"
#include "kernels/registry.h"
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

template <eigen::Variant kVariant, typename KernelType, typename OpType>
KernelOrRefusal MakeUpdate(const KernelRequest& request) {
  return eigen::Offer(
      kVariant, request,
      [&](const eigen::Functions& functions, const KernelRequest& settled) -> KernelOrRefusal {
        return std::make_unique<KernelType>(settled, functions,
                                            dynamic_cast<const OpType&>(*request.op));
      });
}

constexpr auto kGebp = eigen::Variant::kGebp;
constexpr auto kSgemm = eigen::Variant::kSgemm;
const KernelRegistration kSgd("sgd", "eigen", MakeUpdate<kGebp, SgdEigen, SgdOp>);
const KernelRegistration kAdam("adam", "eigen", MakeUpdate<kGebp, AdamEigen, AdamOp>);
const KernelRegistration kSgdSgemm("sgd", "eigen-sgemm", MakeUpdate<kSgemm, SgdEigen, SgdOp>);
const KernelRegistration kAdamSgemm("adam", "eigen-sgemm", MakeUpdate<kSgemm, AdamEigen, AdamOp>);

}  // namespace

}  // namespace topdnn
