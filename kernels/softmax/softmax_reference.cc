// Softmax by its definition, stabilised by the row's maximum; sums in double.

#include <algorithm>
#include <cmath>

#include "kernels/kernel/reference.h"
#include "kernels/kernel/registry.h"
#include "kernels/softmax/softmax.h"

namespace topdnn {

namespace {

template <typename T>
class SoftmaxReference : public ReferenceKernel {
 public:
  SoftmaxReference(const KernelRequest& request, const SoftmaxOp& op)
      : ReferenceKernel(request), n_(op.batch()), k_(op.classes()) {}

  void Run() noexcept override {
#pragma omp parallel for
    for (std::int64_t n = 0; n < n_; ++n) {
      if (pass() == Pass::kForward) {
        Forward(Data<T>(Arg::kSrc) + n * k_, Data<T>(Arg::kDst) + n * k_);
      } else {
        Backward(Data<T>(Arg::kDiffDst) + n * k_, Data<T>(Arg::kDst) + n * k_,
                 Data<T>(Arg::kDiffSrc) + n * k_);
      }
    }
  }

 private:
  // Works on rows of K elements.
  void Forward(const T* src, T* dst) const {
    const auto highest = static_cast<double>(*std::max_element(src, src + k_));
    double sum = 0;
    for (std::int64_t k = 0; k < k_; ++k) sum += std::exp(static_cast<double>(src[k]) - highest);
    for (std::int64_t k = 0; k < k_; ++k) {
      dst[k] = static_cast<T>(std::exp(static_cast<double>(src[k]) - highest) / sum);
    }
  }

  void Backward(const T* diff_dst, const T* dst, T* diff_src) const {
    double dot = 0;
    for (std::int64_t k = 0; k < k_; ++k) {
      dot += static_cast<double>(diff_dst[k]) * static_cast<double>(dst[k]);
    }
    for (std::int64_t k = 0; k < k_; ++k) {
      diff_src[k] =
          static_cast<T>(static_cast<double>(dst[k]) * (static_cast<double>(diff_dst[k]) - dot));
    }
  }

  const std::int64_t n_, k_;
};

const KernelRegistration kReferenceSoftmax("softmax", "reference",
                                           MakeReference<SoftmaxOp, SoftmaxReference>);

}  // namespace

}  // namespace topdnn
