// Local response normalization with Eigen's arrays over the rows of (N*H*W, C). The workspace holds
// `scale`.

#include "kernels/eigen/kernel.h"
#include "kernels/fidelity.h"
#include "kernels/lrn/lrn.h"

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
    norm_.scratch = Scratch();
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

KernelOrRefusal MakeLrn(const eigen::Functions& functions, KernelRequest& request) {
  const int rank = dynamic_cast<const LrnOp&>(*request.op).shape().rank();
  if (auto refusal = eigen::SettleAll(request, rank, Layout::ChannelsLast)) {
    return *std::move(refusal);
  }
  return eigen::Make<LrnEigen, LrnOp>(functions, request);
}

const eigen::Registration kRegistration("lrn", MakeLrn);
const FidelityDeclaration kFidelity({"lrn", "eigen", Fidelity::kOurs,
                                     "windows of rows; TensorFlow multiplies by a band matrix",
                                     "lrn_op.cc"});

}  // namespace

}  // namespace topdnn
