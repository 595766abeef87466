// Local response normalization with Eigen's arrays over the rows of (N*H*W, C). The workspace holds
// `scale`.

#include <string>

#include "kernels/eigen/kernel.h"
#include "kernels/lrn/lrn.h"
#include "kernels/registry.h"

namespace topdnn {

namespace {

class LrnEigen : public eigen::EigenKernel {
 public:
  LrnEigen(const KernelRequest& request, const eigen::Functions& functions, const LrnOp& op)
      : EigenKernel(request, functions, "rows"),
        forward_(request.execution.pass == Pass::kForward) {
    const LrnSettings& s = op.settings();
    norm_.rows = op.batch() * op.image();
    norm_.channels = op.channels();
    norm_.before = (s.size - 1) / 2;
    norm_.after = s.size / 2;
    norm_.alpha = s.alpha / static_cast<float>(s.size);
    norm_.beta = s.beta;
    norm_.k = s.k;
    ReserveScratch(2 * request.threads * op.channels());
  }

  void Prepare(const std::map<Arg, void*>& memory) override {
    EigenKernel::Prepare(memory);
    norm_.scratch = scratch();
  }

 private:
  void Compute() override {
    float* scale = Data(Arg::kWorkspace);
    if (forward_) {
      functions().lrn(pool(), norm_, Data(Arg::kSrc), Data(Arg::kDst), scale);
    } else {
      functions().lrn_backward(pool(), norm_, Data(Arg::kSrc), scale, Data(Arg::kDiffDst),
                               Data(Arg::kDiffSrc));
    }
  }

  const bool forward_;
  eigen::ResponseNorm norm_ = {};
};

template <eigen::Variant kVariant>
KernelOrRefusal MakeLrn(const KernelRequest& request) {
  const auto& op = dynamic_cast<const LrnOp&>(*request.op);
  return eigen::Offer(
      kVariant, request,
      [&](const eigen::Functions& functions, KernelRequest settled) -> KernelOrRefusal {
        const std::string channels_last = Layout::ChannelsLast(op.shape().rank()).tag();
        for (const Operand& operand : op.Operands(request.execution)) {
          if (auto refusal = eigen::Settle(settled, operand.arg, {channels_last})) {
            return *std::move(refusal);
          }
        }
        return std::make_unique<LrnEigen>(settled, functions, op);
      });
}

const KernelRegistration kGebp("lrn", "eigen", MakeLrn<eigen::Variant::kGebp>);
const KernelRegistration kSgemm("lrn", "eigen-sgemm", MakeLrn<eigen::Variant::kSgemm>);

}  // namespace

}  // namespace topdnn
