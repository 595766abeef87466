// Batch normalization over the rows of (N*H*W, C).

#include "kernels/batchnorm/batchnorm.h"
#include "kernels/batchnorm/moving_average.h"
#include "kernels/eigen/kernel.h"
#include "kernels/kernel/fidelity.h"

namespace topdnn {

namespace {

class BatchNormEigen : public eigen::EigenKernel {
 public:
  BatchNormEigen(const KernelRequest& request, const eigen::Functions& functions,
                 const BatchNormOp& op)
      : EigenKernel(request, functions, "rows") {
    norm_.rows = op.batch() * op.image();
    norm_.channels = op.channels();
    norm_.epsilon = op.epsilon();
    norm_.relu = op.relu();
    ReserveScratch((2 * request.threads + 2) * op.channels());
  }

  void Prepare(const std::map<Arg, void*>& memory) override {
    EigenKernel::Prepare(memory);
    norm_.mean = Data(Arg::kMean);
    norm_.variance = Data(Arg::kVariance);
    norm_.scale = Data(Arg::kScale);
    norm_.shift = Data(Arg::kShift);
    norm_.passed = Data<std::uint8_t>(Arg::kWorkspace);
    norm_.scratch = Scratch();
  }

 private:
  void Compute() override {
    if (pass() == Pass::kBackwardData) {
      functions().batchnorm_backward(pool(), norm_, Data(Arg::kSrc), Data(Arg::kDiffDst),
                                     Data(Arg::kDiffSrc), Data(Arg::kDiffScale),
                                     Data(Arg::kDiffShift));
    } else if (training()) {
      functions().batchnorm_training(pool(), norm_, Data(Arg::kSrc), Data(Arg::kDst));
    } else {
      functions().batchnorm_inference(pool(), norm_, Data(Arg::kSrc), Data(Arg::kDst));
    }
  }

  eigen::BatchNorm norm_ = {};
};

KernelOrRefusal MakeEigenBatchNorm(const eigen::Functions& functions, KernelRequest& request,
                                   const BatchNormOp& op) {
  if (op.relu_bound() != 0) return Refusal{"eigen fuses no bounded ReLU"};
  if (auto refusal = eigen::SettleAll(request, op.shape().rank(), Layout::ChannelsLast)) {
    return *std::move(refusal);
  }
  return eigen::Make<BatchNormEigen, BatchNormOp>(functions, request);
}

class MovingAverageEigen : public eigen::EigenKernel {
 public:
  MovingAverageEigen(const KernelRequest& request, const eigen::Functions& functions,
                     const MovingAverageOp& op)
      : EigenKernel(request, functions, "expression"), n_(op.size()), momentum_(op.momentum()) {}

 private:
  void Compute() override {
    functions().moving_average(pool(), n_, momentum_, Data(Arg::kSrc), Data(Arg::kDst));
  }

  const std::int64_t n_;
  const float momentum_;
};

const eigen::Registration kNorm("batchnorm", MakeEigenBatchNorm);
const eigen::Registration kAverage("moving_average",
                                   eigen::Make<MovingAverageEigen, MovingAverageOp>);
const FidelityDeclaration kBatchNormEigenFidelity[] = {
    FidelityDeclaration(
        {"batchnorm", "eigen", Fidelity::kOurs,
         "three passes forward as TensorFlow, but sums of rows by thread, not Eigen's reductions; "
         "two passes backward, where TensorFlow needs six because it stores two products and then "
         "sums them; it fuses no ReLU on a CPU",
         "fused_batch_norm_op.cc"}),
    FidelityDeclaration({"moving_average", "eigen", Fidelity::kOurs,
                         "one expression; TensorFlow evaluates it as a part of FusedBatchNorm, "
                         "where it also corrects the variance by n / (n - 1)",
                         "fused_batch_norm_op.cc"}),
};

}  // namespace

}  // namespace topdnn
