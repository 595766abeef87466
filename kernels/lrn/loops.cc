// Local response normalization as loops over row-major tensors, because OpenBLAS has no such
// operation. Threads share blocks of pixels, so that all channels of a pixel stay in the cache.
// Each window is summed from the start: a running sum would keep the rounding error (and the
// infinity) of elements that have left the window. The workspace holds `scale`.

#include <omp.h>

#include <algorithm>
#include <cmath>

#include "kernels/kernel/fidelity.h"
#include "kernels/kernel/omp_loops.h"
#include "kernels/kernel/registry.h"
#include "kernels/lrn/lrn.h"

namespace topdnn {

namespace {

constexpr std::int64_t kPixels = 64;  // pixels per block

// scale^-beta. For the usual beta of 3/4 it uses two square roots.
template <bool kThreeQuarters>
inline float NegativePower(float scale, float beta) {
  if (!kThreeQuarters) return std::pow(scale, -beta);
  const float root = std::sqrt(scale);
  return 1.0F / (root * std::sqrt(root));
}

class LrnLoops : public LoopsKernel {
 public:
  LrnLoops(const KernelRequest& request, const LrnOp& op)
      : LoopsKernel(request),
        op_(op),
        image_(op.image()),
        elements_(op.shape().elements()),
        alpha_(op.settings().alpha / static_cast<float>(op.settings().size)),
        beta_(op.settings().beta) {
    // Per thread: a block of `scale`, or of the gradient's terms.
    ReserveScratch(request.threads * op.channels() * kPixels);
  }

  void Run() noexcept override { beta_ == 0.75F ? Blocks<true>() : Blocks<false>(); }

 private:
  template <bool kThreeQuarters>
  void Blocks() {
    const std::int64_t blocks = (image_ + kPixels - 1) / kPixels;
#pragma omp parallel for collapse(2) if (elements_ >= kMinParallelElements)
    for (std::int64_t n = 0; n < op_.batch(); ++n) {
      for (std::int64_t b = 0; b < blocks; ++b) {
        const std::int64_t first = n * op_.channels() * image_ + b * kPixels;
        const std::int64_t pixels = std::min(kPixels, image_ - b * kPixels);
        if (pass() == Pass::kForward) {
          Forward<kThreeQuarters>(first, pixels);
        } else {
          Backward<kThreeQuarters>(first, pixels);
        }
      }
    }
  }

  // (C, kPixels), of the calling thread.
  float* ScratchOfThread() const {
    return Scratch() + omp_get_thread_num() * op_.channels() * kPixels;
  }

  // `first` is the position of the first of `pixels` elements in channel 0.
  template <bool kThreeQuarters>
  void Forward(std::int64_t first, std::int64_t pixels) const {
    const float k = op_.settings().k;
    for (std::int64_t c = 0; c < op_.channels(); ++c) {
      const std::int64_t at = first + c * image_;
      float* workspace = Data<float>(Arg::kWorkspace);
      float* scale = workspace != nullptr ? workspace + at : ScratchOfThread();
      std::fill(scale, scale + pixels, 0.0F);
      const LrnWindow window = op_.WindowOf(c);
      for (std::int64_t d = window.first; d < window.end; ++d) {
        const float* src = Data<float>(Arg::kSrc) + first + d * image_;
#pragma omp simd
        for (std::int64_t i = 0; i < pixels; ++i) scale[i] += src[i] * src[i];
      }
      const float* src = Data<float>(Arg::kSrc) + at;
      float* dst = Data<float>(Arg::kDst) + at;
      for (std::int64_t i = 0; i < pixels; ++i) {
        scale[i] = k + alpha_ * scale[i];
        dst[i] = src[i] * NegativePower<kThreeQuarters>(scale[i], beta_);
      }
    }
  }

  template <bool kThreeQuarters>
  void Backward(std::int64_t first, std::int64_t pixels) const {
    float* terms = ScratchOfThread();
    for (std::int64_t c = 0; c < op_.channels(); ++c) {
      const std::int64_t at = first + c * image_;
      const float* src = Data<float>(Arg::kSrc) + at;
      const float* scale = Data<float>(Arg::kWorkspace) + at;
      const float* diff_dst = Data<float>(Arg::kDiffDst) + at;
      float* diff_src = Data<float>(Arg::kDiffSrc) + at;
      for (std::int64_t i = 0; i < pixels; ++i) {
        const float direct = diff_dst[i] * NegativePower<kThreeQuarters>(scale[i], beta_);
        terms[c * kPixels + i] = direct * src[i] / scale[i];
        diff_src[i] = direct;
      }
    }
    const float factor = 2 * alpha_ * beta_;
    for (std::int64_t c = 0; c < op_.channels(); ++c) {
      const std::int64_t at = first + c * image_;
      const float* src = Data<float>(Arg::kSrc) + at;
      float* diff_src = Data<float>(Arg::kDiffSrc) + at;
      float sum[kPixels] = {};
      const LrnWindow windows = op_.WindowsContaining(c);
      for (std::int64_t j = windows.first; j < windows.end; ++j) {
#pragma omp simd
        for (std::int64_t i = 0; i < pixels; ++i) sum[i] += terms[j * kPixels + i];
      }
#pragma omp simd
      for (std::int64_t i = 0; i < pixels; ++i) diff_src[i] -= factor * src[i] * sum[i];
    }
  }

  const LrnOp op_;
  const std::int64_t image_, elements_;
  const float alpha_;  // factor of one term of the sum
  const float beta_;
};

const KernelRegistration kLoops("lrn", "native", MakeLoops<LrnOp, LrnLoops>);
const FidelityDeclaration kLoopsFidelity({"lrn", "native", Fidelity::kOurs,
                                          "loops over windows; Caffe keeps running sums by axpy",
                                          "layers/lrn_layer.cpp"});

}  // namespace

}  // namespace topdnn
