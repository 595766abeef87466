// ReLU as its definition. A NaN passes.

#include "kernels/reference.h"

#include "kernels/activation/relu.h"
#include "kernels/registry.h"

namespace topdnn {

namespace {

template <typename T>
class ReluReference : public ReferenceKernel {
 public:
  ReluReference(const KernelRequest& request, const ReluOp& op)
      : ReferenceKernel(request),
        n_(op.shape().elements()),
        bound_(static_cast<T>(op.bound())),
        pass_(request.execution.pass) {}

  void Run() noexcept override {
    if (pass_ == Pass::kForward) {
      const T* src = Data<T>(Arg::kSrc);
      T* dst = Data<T>(Arg::kDst);
#pragma omp parallel for
      for (std::int64_t i = 0; i < n_; ++i) {
        const T x = src[i];
        dst[i] = x < 0 ? T{0} : (bound_ > 0 && x > bound_ ? bound_ : x);
      }
      return;
    }
    const T* diff_dst = Data<T>(Arg::kDiffDst);
    const T* dst = Data<T>(Arg::kDst);
    T* diff_src = Data<T>(Arg::kDiffSrc);
#pragma omp parallel for
    for (std::int64_t i = 0; i < n_; ++i) {
      const bool passes = dst[i] > 0 && (bound_ == 0 || dst[i] < bound_);
      diff_src[i] = passes ? diff_dst[i] : T{0};
    }
  }

 private:
  const std::int64_t n_;
  const T bound_;
  const Pass pass_;
};

KernelOrRefusal MakeRelu(const KernelRequest& request) {
  return MakeReference<ReluOp, ReluReference>(request);
}

const KernelRegistration kRelu("relu", "reference", MakeRelu);
const KernelRegistration kBounded("bounded_relu", "reference", MakeRelu);

}  // namespace

}  // namespace topdnn
