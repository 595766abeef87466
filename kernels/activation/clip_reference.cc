// Clip as its definition. A NaN passes.

#include "kernels/activation/clip.h"
#include "kernels/reference.h"
#include "kernels/registry.h"

namespace topdnn {

namespace {

template <typename T>
class ClipReference : public ReferenceKernel {
 public:
  ClipReference(const KernelRequest& request, const ClipOp& op)
      : ReferenceKernel(request),
        n_(op.shape().elements()),
        lowest_(static_cast<T>(op.lowest())),
        highest_(static_cast<T>(op.highest())),
        pass_(request.execution.pass) {}

  void Run() noexcept override {
    if (pass_ == Pass::kForward) {
      const T* src = Data<T>(Arg::kSrc);
      T* dst = Data<T>(Arg::kDst);
      for (std::int64_t i = 0; i < n_; ++i) {
        const T x = src[i];
        dst[i] = x < lowest_ ? lowest_ : (x > highest_ ? highest_ : x);
      }
      return;
    }
    const T* diff_dst = Data<T>(Arg::kDiffDst);
    const T* dst = Data<T>(Arg::kDst);
    T* diff_src = Data<T>(Arg::kDiffSrc);
    for (std::int64_t i = 0; i < n_; ++i) {
      diff_src[i] = dst[i] > lowest_ && dst[i] < highest_ ? diff_dst[i] : T{0};
    }
  }

 private:
  const std::int64_t n_;
  const T lowest_, highest_;
  const Pass pass_;
};

KernelOrRefusal MakeClip(const KernelRequest& request) {
  return MakeReference<ClipOp, ClipReference>(request);
}

const KernelRegistration kRegistration("clip", "reference", MakeClip);

}  // namespace

}  // namespace topdnn
