// Local response normalization over (N*H*W, C), as in TensorFlow (lrn_op.cc): a contraction with a
// band matrix, and no workspace. The variant eigen-rows is ours: Eigen's arrays over the rows; its
// workspace holds `scale`.

#include "kernels/eigen/kernel.h"
#include "kernels/kernel/fidelity.h"
#include "kernels/lrn/lrn.h"

namespace topdnn {

namespace {

class LrnEigen : public eigen::EigenKernel {
 public:
  LrnEigen(const KernelRequest& request, const eigen::Functions& functions, const LrnOp& op)
      : EigenKernel(request, functions, AlgorithmOf(request)),
        by_rows_(request.algorithm == eigen::kRows) {
    const LrnSettings& s = op.settings();
    norm_.rows = op.batch() * op.image();
    norm_.channels = op.channels();
    norm_.before = (s.size - 1) / 2;
    norm_.after = s.size / 2;
    norm_.alpha = s.alpha / static_cast<float>(s.size);
    norm_.beta = s.beta;
    norm_.k = s.k;
    if (by_rows_) {
      ReserveScratch(2 * request.threads * op.channels());
    } else if (forward()) {
      ReserveRunScratch(op.channels() * op.channels());
    }
  }

  void Prepare(const std::map<Arg, void*>& memory) override {
    EigenKernel::Prepare(memory);
    norm_.scratch = Scratch();
  }

 private:
  static std::string_view AlgorithmOf(const KernelRequest& request) {
    if (request.algorithm == eigen::kRows) return eigen::kRows;
    return request.execution.pass == Pass::kForward ? "band_contraction" : "windows";
  }

  void Compute() override { by_rows_ ? ComputeByRows() : ComputeAsTensorFlow(); }

  void ComputeAsTensorFlow() {
    if (forward()) {
      functions().lrn(pool(), norm_, Data(Arg::kSrc), Data(Arg::kDst));
    } else {
      functions().lrn_backward(pool(), norm_, Data(Arg::kSrc), Data(Arg::kDst), Data(Arg::kDiffDst),
                               Data(Arg::kDiffSrc));
    }
  }

  void ComputeByRows() {
    float* scale = Data(Arg::kWorkspace);
    if (forward()) {
      functions().lrn_rows(pool(), norm_, Data(Arg::kSrc), Data(Arg::kDst), scale);
    } else {
      functions().lrn_rows_backward(pool(), norm_, Data(Arg::kSrc), scale, Data(Arg::kDiffDst),
                                    Data(Arg::kDiffSrc));
    }
  }

  const bool by_rows_;
  eigen::ResponseNorm norm_ = {};
};

KernelOrRefusal MakeEigenLrn(const eigen::Functions& functions, KernelRequest& request) {
  if (auto refusal = eigen::SettleRows(request)) return *std::move(refusal);
  const int rank = request.OpAs<LrnOp>().shape().rank();
  if (auto refusal = eigen::SettleAll(request, rank, Layout::ChannelsLast)) {
    return *std::move(refusal);
  }
  return eigen::Make<LrnEigen, LrnOp>(functions, request);
}

const eigen::Registration kLrnEigen("lrn", MakeEigenLrn, {eigen::kRows});
const FidelityDeclaration kLrnEigenFidelity(
    {"lrn", "eigen", Fidelity::kSame,
     "the squares times a band matrix; the gradient computes each scale again; `eigen-rows`, "
     "windows of rows, is ours, and so is forward above 384 channels with a beta of 0.5 or 1, "
     "where TensorFlow keeps running sums on one thread",
     "lrn_op.cc"});

}  // namespace

}  // namespace topdnn
