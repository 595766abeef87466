// The activations as vectorised loops, for backends whose libraries have none. A NaN stays a NaN.

#include <cmath>

#include "kernels/activation/clip.h"
#include "kernels/activation/relu.h"
#include "kernels/activation/sigmoid.h"
#include "kernels/kernel/fidelity.h"
#include "kernels/kernel/omp_loops.h"
#include "kernels/kernel/registry.h"

namespace topdnn {

namespace {

// ReLU, with or without an upper bound, and clip. Without an upper bound the comparison with it is
// left out, because the operation's work does not include it.
template <bool kUpperBound>
struct Range {
  static constexpr std::int64_t kCost = 1;

  float Of(float src) const {
    const float x = src < lowest ? lowest : src;
    return kUpperBound && x > highest ? highest : x;
  }
  float Gradient(float diff_dst, float dst) const {
    const float above = dst > lowest ? diff_dst : 0.0F;
    return !kUpperBound || dst < highest ? above : 0.0F;
  }

  float lowest, highest;
};

struct Sigmoid {
  // Most of it is the exponential.
  static constexpr std::int64_t kCost = 8;

  static float Of(float src) { return 1.0F / (1.0F + std::exp(-src)); }
  static float Gradient(float diff_dst, float dst) { return diff_dst * dst * (1.0F - dst); }
};

struct HardSigmoid {
  static constexpr std::int64_t kCost = 1;

  float Of(float src) const {
    const float x = alpha * src + beta;
    const float above = x < 0.0F ? 0.0F : x;
    return above > 1.0F ? 1.0F : above;
  }
  float Gradient(float diff_dst, float dst) const {
    const float above = dst > 0.0F ? alpha * diff_dst : 0.0F;
    return dst < 1.0F ? above : 0.0F;
  }

  float alpha, beta;
};

// `Function` defines the value of an element, its gradient, and kCost, the cost of the value in
// additions. The gradient costs only a few operations in all of them.
template <typename Function>
class ActivationLoops : public LoopsKernel {
 public:
  ActivationLoops(const KernelRequest& request, Function function)
      : LoopsKernel(request),
        n_(request.op->Find(request.execution, Arg::kDst)->shape.elements()),
        function_(function) {}

  void Run() noexcept override { pass() == Pass::kForward ? Forward() : Backward(); }

 private:
  void Forward() const {
    const float* src = Data<float>(Arg::kSrc);
    float* dst = Data<float>(Arg::kDst);
    const Function function = function_;
#pragma omp parallel for simd if (parallel : n_ * Function::kCost >= kMinParallelElements)
    for (std::int64_t i = 0; i < n_; ++i) dst[i] = function.Of(src[i]);
  }

  void Backward() const {
    const float* diff_dst = Data<float>(Arg::kDiffDst);
    const float* dst = Data<float>(Arg::kDst);
    float* diff_src = Data<float>(Arg::kDiffSrc);
    const Function function = function_;
#pragma omp parallel for simd if (parallel : n_ >= kMinParallelElements)
    for (std::int64_t i = 0; i < n_; ++i) diff_src[i] = function.Gradient(diff_dst[i], dst[i]);
  }

  const std::int64_t n_;
  const Function function_;
};

template <typename Function>
KernelOrRefusal MakeLoopsActivation(const KernelRequest& request, Function function) {
  if (std::string why = LoopsRefusal(request); !why.empty()) return Refusal{std::move(why)};
  return std::make_unique<ActivationLoops<Function>>(request, function);
}

KernelOrRefusal MakeLoopsRelu(const KernelRequest& request) {
  const float bound = request.OpAs<ReluOp>().bound();
  if (bound == 0.0F) return MakeLoopsActivation(request, Range<false>{0.0F, 0.0F});
  return MakeLoopsActivation(request, Range<true>{0.0F, bound});
}

KernelOrRefusal MakeLoopsClip(const KernelRequest& request, const ClipOp& op) {
  return MakeLoopsActivation(request, Range<true>{op.lowest(), op.highest()});
}

KernelOrRefusal MakeLoopsSigmoid(const KernelRequest& request) {
  return MakeLoopsActivation(request, Sigmoid{});
}

KernelOrRefusal MakeLoopsHardSigmoid(const KernelRequest& request, const HardSigmoidOp& op) {
  return MakeLoopsActivation(request, HardSigmoid{op.alpha(), op.beta()});
}

const KernelRegistration kLoopsRelu("relu", "native", MakeLoopsRelu);
const KernelRegistration kLoopsBounded("bounded_relu", "native", MakeLoopsRelu);
const KernelRegistration kLoopsClip("clip", "native", MakeLoopsClip);
const KernelRegistration kLoopsSigmoid("sigmoid", "native", MakeLoopsSigmoid);
const KernelRegistration kLoopsHardSigmoid("hard_sigmoid", "native", MakeLoopsHardSigmoid);
const FidelityDeclaration kLoopsFidelity[] = {
    FidelityDeclaration({"relu", "native", Fidelity::kOurs,
                         "a loop on all threads; Caffe's is serial", "layers/relu_layer.cpp"}),
    FidelityDeclaration(
        {"bounded_relu", "native", Fidelity::kOurs, "a loop; Caffe has no such operation"}),
    FidelityDeclaration(
        {"clip", "native", Fidelity::kOurs, "a loop; Caffe 1.0 has no such operation"}),
    FidelityDeclaration({"sigmoid", "native", Fidelity::kOurs,
                         "a loop on all threads; Caffe's is serial", "layers/sigmoid_layer.cpp"}),
    FidelityDeclaration(
        {"hard_sigmoid", "native", Fidelity::kOurs, "a loop; Caffe has no such operation"}),
};

}  // namespace

}  // namespace topdnn
