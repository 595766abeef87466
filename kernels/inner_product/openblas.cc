// Inner product as Caffe computes it on a BLAS: one sgemm, and the bias as a product with a vector
// of ones (BVLC Caffe 1.0, src/caffe/layers/inner_product_layer.cpp). A ReLU is a layer by itself
// there.

#include "kernels/library/openblas.h"

#include <vector>

#include "kernels/inner_product/inner_product.h"
#include "kernels/kernel/fidelity.h"
#include "kernels/kernel/registry.h"

namespace topdnn {

namespace {

class InnerProductOpenBlas : public openblas::OpenBlasKernel {
 public:
  InnerProductOpenBlas(const KernelRequest& request, const InnerProductOp& op)
      : OpenBlasKernel(request, "gemm"),
        n_(op.batch()),
        c_(op.inputs()),
        k_(op.outputs()),
        ones_(static_cast<std::size_t>(n_), 1.0F) {}

  void Prepare(const std::map<Arg, void*>& memory) override {
    OpenBlasKernel::Prepare(memory);
    src_ = Data(pass() == Pass::kBackwardData ? Arg::kDiffSrc : Arg::kSrc);
    weights_ = Data(pass() == Pass::kBackwardWeights ? Arg::kDiffWeights : Arg::kWeights);
    bias_ = Data(pass() == Pass::kBackwardWeights ? Arg::kDiffBias : Arg::kBias);
    dst_ = Data(pass() == Pass::kForward ? Arg::kDst : Arg::kDiffDst);
  }

  void Run() noexcept override {
    switch (pass()) {
      case Pass::kForward:
        openblas::Sgemm(false, true, n_, k_, c_, src_, weights_, 0.0F, dst_);
        if (bias_ != nullptr)
          openblas::Sgemm(false, false, n_, k_, 1, ones_.data(), bias_, 1.0F, dst_);
        return;
      case Pass::kBackwardData:
        openblas::Sgemm(false, false, n_, c_, k_, dst_, weights_, 0.0F, src_);
        return;
      case Pass::kBackwardWeights:
        openblas::Sgemm(true, false, k_, c_, n_, dst_, src_, 0.0F, weights_);
        if (bias_ != nullptr) openblas::Sgemv(true, n_, k_, dst_, ones_.data(), 0.0F, bias_);
        return;
    }
  }

 private:
  const std::int64_t n_, c_, k_;
  const std::vector<float> ones_;  // (N)
  // src or diff_src (N, C); weights or diff_weights (K, C); bias or diff_bias; dst or diff_dst.
  float* src_ = nullptr;
  float* weights_ = nullptr;
  float* bias_ = nullptr;
  float* dst_ = nullptr;
};

KernelOrRefusal MakeOpenBlasInnerProduct(const KernelRequest& request) {
  const bool forward = request.execution.pass == Pass::kForward;
  if (forward && request.OpAs<InnerProductOp>().epilogue().relu) {
    return Refusal{"openblas computes a ReLU in a layer by itself, as Caffe does"};
  }
  return openblas::Make<InnerProductOp, InnerProductOpenBlas>(request);
}

const KernelRegistration kInnerProductOpenBlas("inner_product", "openblas",
                                               MakeOpenBlasInnerProduct);
const FidelityDeclaration kInnerProductOpenBlasFidelity({"inner_product", "openblas",
                                                         Fidelity::kSame,
                                                         "sgemm, and the bias by sgemm and sgemv",
                                                         "layers/inner_product_layer.cpp"});

}  // namespace

}  // namespace topdnn
