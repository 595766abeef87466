// Convolution as Caffe computes it on a BLAS: NCHW, image by image, with im2col on one thread, one
// sgemm per group, and the bias as a product with a vector of ones (BVLC Caffe 1.0,
// src/caffe/layers/base_conv_layer.cpp, src/caffe/util/im2col.cpp). A ReLU and an addition are
// layers by themselves there. The variant openblas-parallel shares im2col, col2im and the sums of
// the bias among the threads, and fuses what follows.

#include "kernels/library/openblas.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "kernels/conv/conv.h"
#include "kernels/conv/im2col.h"
#include "kernels/kernel/fidelity.h"
#include "kernels/kernel/registry.h"
#include "kernels/kernel/variant.h"

namespace topdnn {

namespace {

constexpr std::string_view kParallel = "parallel";

class ConvOpenBlas : public openblas::OpenBlasKernel {
 public:
  ConvOpenBlas(const KernelRequest& request, const ConvOp& op)
      : OpenBlasKernel(request, NameFor(request, op.extents())),
        e_(op.extents()),
        epilogue_(op.epilogue()),
        parallel_(request.algorithm == kParallel),
        patch_(e_.c / e_.groups * e_.r * e_.s),
        kernels_(e_.k / e_.groups),
        positions_(e_.oh() * e_.ow()),
        ones_(parallel_ || !epilogue_.bias ? 0 : static_cast<std::size_t>(positions_), 1.0F) {
    if (!ColIsImage(e_)) ReserveRunScratch(e_.groups * patch_ * positions_);  // of one image
  }

  void Prepare(const std::map<Arg, void*>& memory) override {
    OpenBlasKernel::Prepare(memory);
    src_ = Data(pass() == Pass::kBackwardData ? Arg::kDiffSrc : Arg::kSrc);
    weights_ = Data(pass() == Pass::kBackwardWeights ? Arg::kDiffWeights : Arg::kWeights);
    bias_ = Data(pass() == Pass::kBackwardWeights ? Arg::kDiffBias : Arg::kBias);
    dst_ = Data(pass() == Pass::kForward ? Arg::kDst : Arg::kDiffDst);
  }

  void Run() noexcept override {
    if (pass() == Pass::kBackwardWeights && bias_ != nullptr) BackwardBias();
    for (std::int64_t n = 0; n < e_.n; ++n) {
      float* image = src_ + n * e_.c * e_.h * e_.w;
      float* dst = dst_ + n * e_.k * positions_;
      float* col = ColIsImage(e_) ? image : Scratch();
      if (col != image && pass() != Pass::kBackwardData) Im2Col(e_, parallel_, image, col);
      for (std::int64_t g = 0; g < e_.groups; ++g) {
        MultiplyGroup(n, weights_ + g * kernels_ * patch_, col + g * patch_ * positions_,
                      dst + g * kernels_ * positions_);
      }
      if (col != image && pass() == Pass::kBackwardData) Col2Im(e_, parallel_, col, image);
      if (pass() == Pass::kForward) Epilogue(dst);
    }
  }

 private:
  static std::string NameFor(const KernelRequest& request, const ConvExtents& e) {
    const std::string name = ColIsImage(e) ? "gemm" : "im2col+gemm";
    return request.algorithm == kParallel ? "parallel_" + name : name;
  }

  // One group of image n: weights (K/G, patch), col (patch, positions), dst (K/G, positions).
  void MultiplyGroup(std::int64_t n, float* weights, float* col, float* dst) const {
    switch (pass()) {
      case Pass::kForward:
        openblas::Sgemm(false, false, kernels_, positions_, patch_, weights, col,
                        epilogue_.sum ? 1.0F : 0.0F, dst);
        return;
      case Pass::kBackwardData:
        openblas::Sgemm(true, false, patch_, positions_, kernels_, weights, dst, 0.0F, col);
        return;
      case Pass::kBackwardWeights:
        openblas::Sgemm(false, true, kernels_, patch_, positions_, dst, col, n == 0 ? 0.0F : 1.0F,
                        weights);
        return;
    }
  }

  void Epilogue(float* dst) const {  // (K, positions)
    if (!parallel_) {
      if (bias_ != nullptr) {
        openblas::Sgemm(false, false, e_.k, positions_, 1, bias_, ones_.data(), 1.0F, dst);
      }
      return;
    }
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
    if (!parallel_) {
      for (std::int64_t n = 0; n < e_.n; ++n) {
        openblas::Sgemv(false, e_.k, positions_, dst_ + n * e_.k * positions_, ones_.data(),
                        n == 0 ? 0.0F : 1.0F, bias_);
      }
      return;
    }
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
  const bool parallel_;
  const std::int64_t patch_, kernels_, positions_;
  const std::vector<float> ones_;  // (positions), or empty
  // src or diff_src; weights or diff_weights; bias or diff_bias; dst or diff_dst.
  float* src_ = nullptr;
  float* weights_ = nullptr;
  float* bias_ = nullptr;
  float* dst_ = nullptr;
};

KernelOrRefusal MakeOpenBlasConv(const KernelRequest& request) {
  const ConvEpilogue& epilogue = request.OpAs<ConvOp>().epilogue();
  const bool forward = request.execution.pass == Pass::kForward;
  if (!request.algorithm.empty() && request.algorithm != kParallel) {
    return Refusal{fmt::format("openblas has no convolution by '{}', only by '{}'",
                               request.algorithm, kParallel)};
  }
  if (std::string why = FunctionRefusal("openblas computes", *request.op, request.execution.pass);
      !why.empty()) {
    return Refusal{std::move(why)};
  }
  if (forward && request.algorithm.empty() && (epilogue.relu || epilogue.sum)) {
    return Refusal{
        "openblas computes a ReLU and an addition in layers by themselves, as Caffe does; the "
        "variant openblas-parallel fuses them"};
  }
  return openblas::Make<ConvOp, ConvOpenBlas>(request);
}

const KernelRegistration kConvOpenBlas("conv", "openblas", MakeOpenBlasConv);
const FidelityDeclaration kConvOpenBlasFidelity(
    {"conv", "openblas", Fidelity::kSame,
     "im2col and one sgemm an image and group; im2col is one loop "
     "over all groups; `openblas-parallel` is ours",
     "layers/base_conv_layer.cpp"});

const VariantRegistration kOpenBlasVariant({.name = "openblas-parallel",
                                            .backend = "openblas",
                                            .algorithm = std::string(kParallel),
                                            .kinds = {"conv"}});

}  // namespace

}  // namespace topdnn
