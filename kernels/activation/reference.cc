// The activations by their definitions. A NaN stays a NaN.

#include "kernels/kernel/reference.h"

#include <cmath>
#include <optional>

#include "kernels/activation/clip.h"
#include "kernels/activation/relu.h"
#include "kernels/activation/sigmoid.h"
#include "kernels/kernel/registry.h"

namespace topdnn {

namespace {

// ReLU, with or without an upper bound, and clip.
template <typename T>
struct Range {
  T Of(T src) const {
    if (src < lowest) return lowest;
    return highest && src > *highest ? *highest : src;
  }
  T Gradient(T diff_dst, T dst) const {
    return dst > lowest && (!highest || dst < *highest) ? diff_dst : T{0};
  }

  T lowest;
  std::optional<T> highest = std::nullopt;
};

template <typename T>
struct Sigmoid {
  T Of(T src) const { return static_cast<T>(1 / (1 + std::exp(-static_cast<double>(src)))); }
  T Gradient(T diff_dst, T dst) const {
    const auto y = static_cast<double>(dst);
    return static_cast<T>(static_cast<double>(diff_dst) * y * (1 - y));
  }
};

template <typename T>
struct HardSigmoid {
  T Of(T src) const {
    const double x = alpha * static_cast<double>(src) + beta;
    return static_cast<T>(x < 0 ? 0 : (x > 1 ? 1 : x));
  }
  T Gradient(T diff_dst, T dst) const {
    return dst > 0 && dst < 1 ? static_cast<T>(alpha * static_cast<double>(diff_dst)) : T{0};
  }

  double alpha, beta;
};

template <typename T, typename Function>
class ActivationReference : public ReferenceKernel {
 public:
  ActivationReference(const KernelRequest& request, Function function)
      : ReferenceKernel(request),
        n_(request.op->Find(request.execution, Arg::kDst)->shape.elements()),
        function_(function) {}

  void Run() noexcept override {
    if (pass() == Pass::kForward) {
      const T* src = Data<T>(Arg::kSrc);
      T* dst = Data<T>(Arg::kDst);
#pragma omp parallel for
      for (std::int64_t i = 0; i < n_; ++i) dst[i] = function_.Of(src[i]);
      return;
    }
    const T* diff_dst = Data<T>(Arg::kDiffDst);
    const T* dst = Data<T>(Arg::kDst);
    T* diff_src = Data<T>(Arg::kDiffSrc);
#pragma omp parallel for
    for (std::int64_t i = 0; i < n_; ++i) diff_src[i] = function_.Gradient(diff_dst[i], dst[i]);
  }

 private:
  const std::int64_t n_;
  const Function function_;
};

template <template <typename> class Function, typename... Parameters>
KernelOrRefusal MakeReferenceActivation(const KernelRequest& request, Parameters... parameters) {
  if (std::string why = ReferenceRefusal(request); !why.empty()) return Refusal{std::move(why)};
  const auto in = [&]<typename T>(T) -> KernelOrRefusal {
    return std::make_unique<ActivationReference<T, Function<T>>>(request,
                                                                 Function<T>{parameters...});
  };
  return request.execution.type == DataType::kF64 ? in(double{}) : in(float{});
}

KernelOrRefusal MakeReferenceRelu(const KernelRequest& request) {
  const float bound = request.OpAs<ReluOp>().bound();
  return bound == 0.0F ? MakeReferenceActivation<Range>(request, 0.0F)
                       : MakeReferenceActivation<Range>(request, 0.0F, bound);
}

KernelOrRefusal MakeReferenceClip(const KernelRequest& request, const ClipOp& op) {
  return MakeReferenceActivation<Range>(request, op.lowest(), op.highest());
}

KernelOrRefusal MakeReferenceSigmoid(const KernelRequest& request) {
  return MakeReferenceActivation<Sigmoid>(request);
}

KernelOrRefusal MakeReferenceHardSigmoid(const KernelRequest& request, const HardSigmoidOp& op) {
  return MakeReferenceActivation<HardSigmoid>(request, op.alpha(), op.beta());
}

const KernelRegistration kReferenceRelu("relu", "reference", MakeReferenceRelu);
const KernelRegistration kReferenceBounded("bounded_relu", "reference", MakeReferenceRelu);
const KernelRegistration kReferenceClip("clip", "reference", MakeReferenceClip);
const KernelRegistration kReferenceSigmoid("sigmoid", "reference", MakeReferenceSigmoid);
const KernelRegistration kReferenceHardSigmoid("hard_sigmoid", "reference",
                                               MakeReferenceHardSigmoid);

}  // namespace

}  // namespace topdnn
