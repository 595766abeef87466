// Convolution as Caffe computes it on a BLAS: NCHW, image by image, with im2col and one sgemm per
// group (BVLC Caffe, src/caffe/layers/base_conv_layer.cpp). OpenBLAS runs the products in parallel;
// im2col and col2im distribute the channels over the same OpenMP threads. (Caffe's im2col runs on
// one thread.)

#include "kernels/openblas.h"

#include "kernels/conv/conv.h"
#include "kernels/conv/im2col.h"
#include "kernels/registry.h"

namespace topdnn {

namespace {

class ConvOpenBlas : public openblas::OpenBlasKernel {
 public:
  ConvOpenBlas(const KernelRequest& request, const ConvOp& op)
      : OpenBlasKernel(request, ColIsImage(op.extents()) ? "gemm" : "im2col+gemm"),
        e_(op.extents()),
        epilogue_(op.epilogue()),
        pass_(request.execution.pass),
        patch_(e_.c / e_.groups * e_.r * e_.s),
        kernels_(e_.k / e_.groups),
        positions_(e_.oh() * e_.ow()) {
    if (!ColIsImage(e_)) ReserveScratch(patch_ * positions_);  // the columns of one image's group
  }

  void Prepare(const std::map<Arg, void*>& memory) override {
    OpenBlasKernel::Prepare(memory);
    src_ = Data(pass_ == Pass::kBackwardData ? Arg::kDiffSrc : Arg::kSrc);
    weights_ = Data(pass_ == Pass::kBackwardWeights ? Arg::kDiffWeights : Arg::kWeights);
    bias_ = Data(pass_ == Pass::kBackwardWeights ? Arg::kDiffBias : Arg::kBias);
    dst_ = Data(pass_ == Pass::kForward ? Arg::kDst : Arg::kDiffDst);
  }

  void Run() noexcept override {
    if (pass_ == Pass::kBackwardWeights && bias_ != nullptr) BackwardBias();
    for (std::int64_t n = 0; n < e_.n; ++n) {
      for (std::int64_t g = 0; g < e_.groups; ++g) RunGroup(n, g);
      if (pass_ == Pass::kForward) Epilogue(dst_ + n * e_.k * positions_);
    }
  }

 private:
  // One group of one image: weights (K/G, patch), col (patch, positions), dst (K/G, positions).
  void RunGroup(std::int64_t n, std::int64_t g) {
    float* image = src_ + (n * e_.c + g * (e_.c / e_.groups)) * e_.h * e_.w;
    float* weights = weights_ + g * kernels_ * patch_;
    float* dst = dst_ + (n * e_.k + g * kernels_) * positions_;
    float* col = ColIsImage(e_) ? image : Scratch();
    switch (pass_) {
      case Pass::kForward:
        if (col != image) Im2Col(e_, image, col);
        openblas::Sgemm(false, false, kernels_, positions_, patch_, weights, col,
                        epilogue_.sum ? 1.0F : 0.0F, dst);
        return;
      case Pass::kBackwardData:
        openblas::Sgemm(true, false, patch_, positions_, kernels_, weights, dst, 0.0F, col);
        if (col != image) Col2Im(e_, col, image);
        return;
      case Pass::kBackwardWeights:
        if (col != image) Im2Col(e_, image, col);
        openblas::Sgemm(false, true, kernels_, patch_, positions_, dst, col, n == 0 ? 0.0F : 1.0F,
                        weights);
        return;
    }
  }

  void Epilogue(float* dst) const {  // (K, positions)
    if (bias_ == nullptr && !epilogue_.relu) return;
#pragma omp parallel for
    for (std::int64_t k = 0; k < e_.k; ++k) {
      const float bias = bias_ == nullptr ? 0.0F : bias_[k];
      float* row = dst + k * positions_;
      for (std::int64_t i = 0; i < positions_; ++i) {
        const float value = row[i] + bias;
        // This form keeps a NaN.
        row[i] = epilogue_.relu && value < 0.0F ? 0.0F : value;
      }
      if (epilogue_.bound == 0.0F) continue;
      for (std::int64_t i = 0; i < positions_; ++i) {
        row[i] = row[i] > epilogue_.bound ? epilogue_.bound : row[i];
      }
    }
  }

  void BackwardBias() {
#pragma omp parallel for
    for (std::int64_t k = 0; k < e_.k; ++k) {
      float sum = 0.0F;
      for (std::int64_t n = 0; n < e_.n; ++n) {
        const float* row = dst_ + (n * e_.k + k) * positions_;
        float image = 0.0F;
#pragma omp simd reduction(+ : image)
        for (std::int64_t i = 0; i < positions_; ++i) image += row[i];
        sum += image;
      }
      bias_[k] = sum;
    }
  }

  const ConvExtents e_;
  const ConvEpilogue epilogue_;
  const Pass pass_;
  const std::int64_t patch_, kernels_, positions_;
  // src or diff_src; weights or diff_weights; bias or diff_bias; dst or diff_dst.
  float* src_ = nullptr;
  float* weights_ = nullptr;
  float* bias_ = nullptr;
  float* dst_ = nullptr;
};

const KernelRegistration kRegistration("conv", "openblas", openblas::Make<ConvOp, ConvOpenBlas>);

}  // namespace

}  // namespace topdnn
