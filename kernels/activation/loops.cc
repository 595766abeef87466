// ReLU, bounded or not, and clip as vectorised loops, for a backend whose library has none. A NaN
// passes.

#include "kernels/activation/clip.h"
#include "kernels/activation/relu.h"
#include "kernels/omp_loops.h"
#include "kernels/registry.h"

namespace topdnn {

namespace {

// Limits elements to [lowest, highest]; without an upper bound none of its arithmetic is done: the
// work counted is the work done.
template <bool kUpperBound>
class RangeLoops : public LoopsKernel {
 public:
  RangeLoops(const KernelRequest& request, const Shape& shape, float lowest, float highest)
      : LoopsKernel(request),
        n_(shape.elements()),
        lowest_(lowest),
        highest_(highest),
        pass_(request.execution.pass) {}

  void Run() noexcept override { pass_ == Pass::kForward ? Forward() : Backward(); }

 private:
  void Forward() const {
    const float* src = Data<float>(Arg::kSrc);
    float* dst = Data<float>(Arg::kDst);
    const float lowest = lowest_;
    const float highest = highest_;
#pragma omp parallel for simd if (parallel : n_ >= kElementsWorthATeam)
    for (std::int64_t i = 0; i < n_; ++i) {
      const float x = src[i] < lowest ? lowest : src[i];
      dst[i] = kUpperBound && x > highest ? highest : x;
    }
  }

  void Backward() const {
    const float* diff_dst = Data<float>(Arg::kDiffDst);
    const float* dst = Data<float>(Arg::kDst);
    float* diff_src = Data<float>(Arg::kDiffSrc);
    const float lowest = lowest_;
    const float highest = highest_;
#pragma omp parallel for simd if (parallel : n_ >= kElementsWorthATeam)
    for (std::int64_t i = 0; i < n_; ++i) {
      const float above = dst[i] > lowest ? diff_dst[i] : 0.0F;
      diff_src[i] = !kUpperBound || dst[i] < highest ? above : 0.0F;
    }
  }

  const std::int64_t n_;
  const float lowest_, highest_;
  const Pass pass_;
};

KernelOrRefusal MakeRelu(const KernelRequest& request) {
  if (std::string why = LoopsRefusal(request); !why.empty()) return Refusal{std::move(why)};
  const auto& op = dynamic_cast<const ReluOp&>(*request.op);
  if (op.bound() == 0.0F) {
    return std::make_unique<RangeLoops<false>>(request, op.shape(), 0.0F, 0.0F);
  }
  return std::make_unique<RangeLoops<true>>(request, op.shape(), 0.0F, op.bound());
}

KernelOrRefusal MakeClip(const KernelRequest& request) {
  if (std::string why = LoopsRefusal(request); !why.empty()) return Refusal{std::move(why)};
  const auto& op = dynamic_cast<const ClipOp&>(*request.op);
  return std::make_unique<RangeLoops<true>>(request, op.shape(), op.lowest(), op.highest());
}

const KernelRegistration kRelu("relu", "openblas", MakeRelu);
const KernelRegistration kBounded("bounded_relu", "openblas", MakeRelu);
const KernelRegistration kClip("clip", "openblas", MakeClip);

}  // namespace

}  // namespace topdnn
