// Bias over the rows of (N*H*W, C). Its gradient is the sum of each column.

#include <string>

#include "kernels/bias/bias.h"
#include "kernels/eigen/kernel.h"
#include "kernels/registry.h"

namespace topdnn {

namespace {

class BiasEigen : public eigen::EigenKernel {
 public:
  BiasEigen(const KernelRequest& request, const eigen::Functions& functions, const BiasOp& op)
      : EigenKernel(request, functions, "rows"),
        c_(op.channels()),
        rows_(op.shape().elements() / op.channels()),
        forward_(request.execution.pass == Pass::kForward) {
    if (!forward_) ReserveScratch(request.threads * c_);
  }

 private:
  void Compute() override {
    if (forward_) {
      functions().add_bias(pool(), rows_, c_, Data(Arg::kSrc), Data(Arg::kBias), Data(Arg::kDst));
    } else {
      functions().column_sums(pool(), rows_, c_, Data(Arg::kDiffDst), scratch(),
                              Data(Arg::kDiffBias));
    }
  }

  const std::int64_t c_, rows_;
  const bool forward_;
};

template <eigen::Variant kVariant>
KernelOrRefusal MakeBias(const KernelRequest& request) {
  const auto& op = dynamic_cast<const BiasOp&>(*request.op);
  return eigen::Offer(
      kVariant, request,
      [&](const eigen::Functions& functions, KernelRequest settled) -> KernelOrRefusal {
        const std::string channels_last = Layout::ChannelsLast(op.shape().rank()).tag();
        for (const Arg arg : {Arg::kSrc, Arg::kDst, Arg::kDiffDst}) {
          if (auto refusal = eigen::Settle(settled, arg, {channels_last})) {
            return *std::move(refusal);
          }
        }
        return std::make_unique<BiasEigen>(settled, functions, op);
      });
}

const KernelRegistration kGebp("bias", "eigen", MakeBias<eigen::Variant::kGebp>);
const KernelRegistration kSgemm("bias", "eigen-sgemm", MakeBias<eigen::Variant::kSgemm>);

}  // namespace

}  // namespace topdnn
