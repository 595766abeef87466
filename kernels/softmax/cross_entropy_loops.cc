// Softmax cross-entropy in f32 as vectorised loops. oneDNN and OpenBLAS have no such loss.

#include <algorithm>
#include <cmath>

#include "kernels/kernel/fidelity.h"
#include "kernels/kernel/omp_loops.h"
#include "kernels/kernel/registry.h"
#include "kernels/softmax/cross_entropy.h"

namespace topdnn {

namespace {

class CrossEntropyLoops : public LoopsKernel {
 public:
  CrossEntropyLoops(const KernelRequest& request, const SoftmaxCrossEntropyOp& op)
      : LoopsKernel(request), n_(op.batch()), k_(op.classes()) {}

  void Run() noexcept override {
    const auto* logits = Data<float>(Arg::kSrc);
    const auto* labels = Data<std::int32_t>(Arg::kLabels);
    float* diff = training() ? Data<float>(Arg::kDiffSrc) : nullptr;
    double loss = 0;
    // The smallest number of exponentials (about 100 microseconds of work) for which a parallel
    // loop pays, because waking the threads costs some microseconds.
    constexpr std::int64_t kMinParallelExponentials = 16384;
#pragma omp parallel for reduction(+ : loss) if (n_ * k_ >= kMinParallelExponentials)
    for (std::int64_t n = 0; n < n_; ++n) {
      const float* row = logits + n * k_;
      const float highest = *std::max_element(row, row + k_);
      float sum = 0;
      for (std::int64_t k = 0; k < k_; ++k) sum += std::exp(row[k] - highest);
      // Computes the difference of the logits first: it is exact when they are large and close.
      loss += static_cast<double>(std::log(sum) + (highest - row[labels[n]]));
      if (diff == nullptr) continue;
      const float scale = 1.0F / (sum * static_cast<float>(n_));
      float* out = diff + n * k_;
      for (std::int64_t k = 0; k < k_; ++k) out[k] = std::exp(row[k] - highest) * scale;
      out[labels[n]] -= 1.0F / static_cast<float>(n_);
    }
    *Data<float>(Arg::kLoss) = static_cast<float>(loss / static_cast<double>(n_));
  }

 private:
  const std::int64_t n_, k_;
};

KernelOrRefusal MakeLoopsCrossEntropy(const KernelRequest& request) {
  return MakeLoops<SoftmaxCrossEntropyOp, CrossEntropyLoops>(request);
}

const KernelRegistration kOnNative("softmax_cross_entropy", "native", MakeLoopsCrossEntropy);
const FidelityDeclaration kLoopsCrossEntropyFidelity(
    {"softmax_cross_entropy", "native", Fidelity::kOurs,
     "rows on all threads; Caffe's loop after its softmax is serial",
     "layers/softmax_loss_layer.cpp"});

}  // namespace

}  // namespace topdnn
