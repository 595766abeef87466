// Bias over the rows of (N*H*W, C). Its gradient is the sum of each column.

#include "kernels/bias/bias.h"
#include "kernels/eigen/kernel.h"
#include "kernels/kernel/fidelity.h"

namespace topdnn {

namespace {

class BiasEigen : public eigen::EigenKernel {
 public:
  BiasEigen(const KernelRequest& request, const eigen::Functions& functions, const BiasOp& op)
      : EigenKernel(request, functions, "rows"),
        c_(op.channels()),
        rows_(op.shape().elements() / op.channels()) {
    if (!forward()) ReserveScratch(request.threads * c_);
  }

 private:
  void Compute() override {
    if (forward()) {
      functions().add_bias(pool(), rows_, c_, Data(Arg::kSrc), Data(Arg::kBias), Data(Arg::kDst));
    } else {
      functions().column_sums(pool(), rows_, c_, Data(Arg::kDiffDst), Scratch(),
                              Data(Arg::kDiffBias));
    }
  }

  const std::int64_t c_, rows_;
};

KernelOrRefusal MakeEigenBias(const eigen::Functions& functions, KernelRequest& request) {
  const int rank = request.OpAs<BiasOp>().shape().rank();
  if (auto refusal = eigen::SettleAll(request, rank, Layout::ChannelsLast)) {
    return *std::move(refusal);
  }
  return eigen::Make<BiasEigen, BiasOp>(functions, request);
}

const eigen::Registration kBiasEigen("bias", MakeEigenBias);
const FidelityDeclaration kBiasEigenFidelity(
    {"bias", "eigen", Fidelity::kSame,
     "one flat expression that repeats the bias; the gradient shares the columns among the threads "
     "when there are more than 16 for each, otherwise the rows (redux_functor.h)",
     "bias_op.cc"});

}  // namespace

}  // namespace topdnn
