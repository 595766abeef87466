// Batch normalization as TensorFlow computes it on Eigen: over the rows of (N*H*W, C).

#include <string>

#include "kernels/batchnorm/batchnorm.h"
#include "kernels/batchnorm/moving_average.h"
#include "kernels/eigen/kernel.h"
#include "kernels/registry.h"

namespace topdnn {

namespace {

class BatchNormEigen : public eigen::EigenKernel {
 public:
  BatchNormEigen(const KernelRequest& request, const eigen::Functions& functions,
                 const BatchNormOp& op)
      : EigenKernel(request, functions, "rows"), execution_(request.execution) {
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
    norm_.scratch = scratch();
  }

 private:
  void Compute() override {
    if (execution_.pass == Pass::kBackwardData) {
      functions().batchnorm_backward(pool(), norm_, Data(Arg::kSrc), Data(Arg::kDiffDst),
                                     Data(Arg::kDiffSrc), Data(Arg::kDiffScale),
                                     Data(Arg::kDiffShift));
    } else if (execution_.training) {
      functions().batchnorm_training(pool(), norm_, Data(Arg::kSrc), Data(Arg::kDst));
    } else {
      functions().batchnorm_inference(pool(), norm_, Data(Arg::kSrc), Data(Arg::kDst));
    }
  }

  eigen::BatchNorm norm_ = {};
  const Execution execution_;
};

template <eigen::Variant kVariant>
KernelOrRefusal MakeBatchNorm(const KernelRequest& request) {
  const auto& op = dynamic_cast<const BatchNormOp&>(*request.op);
  return eigen::Offer(
      kVariant, request,
      [&](const eigen::Functions& functions, KernelRequest settled) -> KernelOrRefusal {
        const int rank = op.shape().rank();
        const std::string channels_last = Layout::ChannelsLast(rank).tag();
        for (const Operand& operand : op.Operands(request.execution)) {
          if (operand.shape.rank() != rank) continue;
          if (auto refusal = eigen::Settle(settled, operand.arg, {channels_last})) {
            return *std::move(refusal);
          }
        }
        return std::make_unique<BatchNormEigen>(settled, functions, op);
      });
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

template <eigen::Variant kVariant>
KernelOrRefusal MakeMovingAverage(const KernelRequest& request) {
  return eigen::Offer(
      kVariant, request,
      [&](const eigen::Functions& functions, const KernelRequest& settled) -> KernelOrRefusal {
        return std::make_unique<MovingAverageEigen>(
            settled, functions, dynamic_cast<const MovingAverageOp&>(*request.op));
      });
}

constexpr auto kGebp = eigen::Variant::kGebp;
constexpr auto kSgemm = eigen::Variant::kSgemm;
const KernelRegistration kNorm("batchnorm", "eigen", MakeBatchNorm<kGebp>);
const KernelRegistration kNormSgemm("batchnorm", "eigen-sgemm", MakeBatchNorm<kSgemm>);
const KernelRegistration kAverage("moving_average", "eigen", MakeMovingAverage<kGebp>);
const KernelRegistration kAverageSgemm("moving_average", "eigen-sgemm", MakeMovingAverage<kSgemm>);

}  // namespace

}  // namespace topdnn
