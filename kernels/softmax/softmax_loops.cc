// Softmax in f32 as loops over the rows, for backends whose libraries have none.

#include <algorithm>
#include <cmath>

#include "kernels/kernel/fidelity.h"
#include "kernels/kernel/omp_loops.h"
#include "kernels/kernel/registry.h"
#include "kernels/softmax/softmax.h"

namespace topdnn {

namespace {

class SoftmaxLoops : public LoopsKernel {
 public:
  SoftmaxLoops(const KernelRequest& request, const SoftmaxOp& op)
      : LoopsKernel(request), n_(op.batch()), k_(op.classes()) {}

  void Run() noexcept override {
    // An exponential costs about ten additions.
#pragma omp parallel for if (n_ * k_ >= kMinParallelElements / 8)
    for (std::int64_t n = 0; n < n_; ++n) {
      if (pass() == Pass::kForward) {
        Forward(Data<float>(Arg::kSrc) + n * k_, Data<float>(Arg::kDst) + n * k_);
      } else {
        Backward(Data<float>(Arg::kDiffDst) + n * k_, Data<float>(Arg::kDst) + n * k_,
                 Data<float>(Arg::kDiffSrc) + n * k_);
      }
    }
  }

 private:
  // Works on rows of K elements.
  void Forward(const float* src, float* dst) const {
    const float highest = *std::max_element(src, src + k_);
    float sum = 0;
    for (std::int64_t k = 0; k < k_; ++k) {
      dst[k] = std::exp(src[k] - highest);
      sum += dst[k];
    }
#pragma omp simd
    for (std::int64_t k = 0; k < k_; ++k) dst[k] /= sum;
  }

  void Backward(const float* diff_dst, const float* dst, float* diff_src) const {
    float dot = 0;
#pragma omp simd reduction(+ : dot)
    for (std::int64_t k = 0; k < k_; ++k) dot += diff_dst[k] * dst[k];
#pragma omp simd
    for (std::int64_t k = 0; k < k_; ++k) diff_src[k] = dst[k] * (diff_dst[k] - dot);
  }

  const std::int64_t n_, k_;
};

const KernelRegistration kLoopsSoftmax("softmax", "native", MakeLoops<SoftmaxOp, SoftmaxLoops>);
const FidelityDeclaration kLoopsSoftmaxFidelity(
    {"softmax", "native", Fidelity::kOurs,
     "loops over rows; Caffe subtracts the maxima by gemm and sums by gemv",
     "layers/softmax_layer.cpp"});

}  // namespace

}  // namespace topdnn
