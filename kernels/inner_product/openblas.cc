// Inner product as Caffe computes it on a BLAS: one sgemm (BVLC Caffe,
// src/caffe/layers/inner_product_layer.cpp).

#include "kernels/openblas.h"

#include "kernels/inner_product/inner_product.h"
#include "kernels/registry.h"

namespace topdnn {

namespace {

class InnerProductOpenBlas : public openblas::OpenBlasKernel {
 public:
  InnerProductOpenBlas(const KernelRequest& request, const InnerProductOp& op)
      : OpenBlasKernel(request, "gemm"),
        n_(op.batch()),
        c_(op.inputs()),
        k_(op.outputs()),
        relu_(op.epilogue().relu),
        pass_(request.execution.pass) {}

  void Prepare(const std::map<Arg, void*>& memory) override {
    OpenBlasKernel::Prepare(memory);
    src_ = Data(pass_ == Pass::kBackwardData ? Arg::kDiffSrc : Arg::kSrc);
    weights_ = Data(pass_ == Pass::kBackwardWeights ? Arg::kDiffWeights : Arg::kWeights);
    bias_ = Data(pass_ == Pass::kBackwardWeights ? Arg::kDiffBias : Arg::kBias);
    dst_ = Data(pass_ == Pass::kForward ? Arg::kDst : Arg::kDiffDst);
  }

  void Run() noexcept override {
    switch (pass_) {
      case Pass::kForward:
        openblas::Sgemm(false, true, n_, k_, c_, src_, weights_, 0.0F, dst_);
        Epilogue();
        return;
      case Pass::kBackwardData:
        openblas::Sgemm(false, false, n_, c_, k_, dst_, weights_, 0.0F, src_);
        return;
      case Pass::kBackwardWeights:
        openblas::Sgemm(true, false, k_, c_, n_, dst_, src_, 0.0F, weights_);
        if (bias_ != nullptr) BackwardBias();
        return;
    }
  }

 private:
  void Epilogue() {
    if (bias_ == nullptr && !relu_) return;
    for (std::int64_t n = 0; n < n_; ++n) {
      float* row = dst_ + n * k_;
      for (std::int64_t k = 0; k < k_; ++k) {
        const float value = row[k] + (bias_ == nullptr ? 0.0F : bias_[k]);
        // This form keeps a NaN.
        row[k] = relu_ && value < 0.0F ? 0.0F : value;
      }
    }
  }

  void BackwardBias() {
    for (std::int64_t k = 0; k < k_; ++k) bias_[k] = 0.0F;
    for (std::int64_t n = 0; n < n_; ++n) {
      for (std::int64_t k = 0; k < k_; ++k) bias_[k] += dst_[n * k_ + k];
    }
  }

  const std::int64_t n_, c_, k_;
  const bool relu_;
  const Pass pass_;
  // src or diff_src (N, C); weights or diff_weights (K, C); bias or diff_bias; dst or diff_dst.
  float* src_ = nullptr;
  float* weights_ = nullptr;
  float* bias_ = nullptr;
  float* dst_ = nullptr;
};

const KernelRegistration kRegistration("inner_product", "openblas",
                                       openblas::Make<InnerProductOp, InnerProductOpenBlas>);

}  // namespace

}  // namespace topdnn
