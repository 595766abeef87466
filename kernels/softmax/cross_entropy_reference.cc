// Softmax cross-entropy by its definition, stabilised by the row's maximum; sums in double.

#include <algorithm>
#include <cmath>

#include "kernels/kernel/reference.h"
#include "kernels/kernel/registry.h"
#include "kernels/softmax/cross_entropy.h"

namespace topdnn {

namespace {

template <typename T>
class CrossEntropyReference : public ReferenceKernel {
 public:
  CrossEntropyReference(const KernelRequest& request, const SoftmaxCrossEntropyOp& op)
      : ReferenceKernel(request), n_(op.batch()), k_(op.classes()) {}

  void Run() noexcept override {
    const T* logits = Data<T>(Arg::kSrc);
    const auto* labels = Data<std::int32_t>(Arg::kLabels);
    double loss = 0;
    for (std::int64_t n = 0; n < n_; ++n) {
      const T* row = logits + n * k_;
      const auto highest = static_cast<double>(*std::max_element(row, row + k_));
      double sum = 0;
      for (std::int64_t k = 0; k < k_; ++k) sum += std::exp(static_cast<double>(row[k]) - highest);
      const double log_sum = highest + std::log(sum);
      loss += log_sum - static_cast<double>(row[labels[n]]);
      if (training()) Gradient(row, log_sum, labels[n], Data<T>(Arg::kDiffSrc) + n * k_);
    }
    *Data<T>(Arg::kLoss) = static_cast<T>(loss / static_cast<double>(n_));
  }

 private:
  void Gradient(const T* row, double log_sum, std::int32_t label, T* diff) const {
    for (std::int64_t k = 0; k < k_; ++k) {
      const double softmax = std::exp(static_cast<double>(row[k]) - log_sum);
      diff[k] = static_cast<T>((softmax - (k == label ? 1.0 : 0.0)) / static_cast<double>(n_));
    }
  }

  const std::int64_t n_, k_;
};

const KernelRegistration kReferenceCrossEntropy(
    "softmax_cross_entropy", "reference",
    MakeReference<SoftmaxCrossEntropyOp, CrossEntropyReference>);

}  // namespace

}  // namespace topdnn
