// Batch normalization by its definition: plain loops over row-major tensors, sums in double.

#include "kernels/kernel/reference.h"

#include <cmath>

#include "kernels/batchnorm/batchnorm.h"
#include "kernels/kernel/registry.h"

namespace topdnn {

namespace {

template <typename T>
class BatchNormReference : public ReferenceKernel {
 public:
  BatchNormReference(const KernelRequest& request, const BatchNormOp& op)
      : ReferenceKernel(request),
        n_(op.batch()),
        c_(op.channels()),
        image_(op.image()),
        epsilon_(static_cast<double>(op.epsilon())),
        relu_(op.relu()),
        bound_(static_cast<double>(op.relu_bound())) {}

  void Run() noexcept override {
#pragma omp parallel for
    for (std::int64_t c = 0; c < c_; ++c) {
      if (pass() == Pass::kBackwardData) {
        Backward(c);
        continue;
      }
      if (training()) Statistics(c);
      Normalize(c);
    }
  }

 private:
  // Calls visit(position) for every element of channel `c`.
  template <typename Visit>
  void ForChannel(std::int64_t c, Visit visit) const {
    for (std::int64_t n = 0; n < n_; ++n) {
      const std::int64_t first = (n * c_ + c) * image_;
      for (std::int64_t i = first; i < first + image_; ++i) visit(i);
    }
  }

  double At(Arg arg, std::int64_t i) const { return static_cast<double>(Data<T>(arg)[i]); }
  double Count() const { return static_cast<double>(n_ * image_); }
  double InverseDeviation(std::int64_t c) const {
    return 1.0 / std::sqrt(At(Arg::kVariance, c) + epsilon_);
  }

  void Statistics(std::int64_t c) const {
    double sum = 0;
    ForChannel(c, [&](std::int64_t i) { sum += At(Arg::kSrc, i); });
    const double mean = sum / Count();
    double squares = 0;
    ForChannel(c, [&](std::int64_t i) {
      const double difference = At(Arg::kSrc, i) - mean;
      squares += difference * difference;
    });
    Data<T>(Arg::kMean)[c] = static_cast<T>(mean);
    Data<T>(Arg::kVariance)[c] = static_cast<T>(squares / Count());
  }

  void Normalize(std::int64_t c) const {
    const double mean = At(Arg::kMean, c);
    const double inverse = InverseDeviation(c);
    auto* passed = Data<std::uint8_t>(Arg::kWorkspace);
    ForChannel(c, [&](std::int64_t i) {
      const double y =
          At(Arg::kScale, c) * (At(Arg::kSrc, i) - mean) * inverse + At(Arg::kShift, c);
      double result = relu_ && y < 0 ? 0.0 : y;
      if (bound_ != 0 && y > bound_) result = bound_;
      Data<T>(Arg::kDst)[i] = static_cast<T>(result);
      if (passed != nullptr) passed[i] = y > 0 && (bound_ == 0 || y < bound_) ? 1 : 0;
    });
  }

  // With x^ = (src - mean) / deviation:
  // diff_src = scale / deviation * (diff_dst - mean(diff_dst) - x^ * mean(diff_dst * x^)).
  void Backward(std::int64_t c) const {
    const double mean = At(Arg::kMean, c);
    const double inverse = InverseDeviation(c);
    const auto* passed = Data<std::uint8_t>(Arg::kWorkspace);
    const auto gradient = [&](std::int64_t i) {
      return passed != nullptr && passed[i] == 0 ? 0.0 : At(Arg::kDiffDst, i);
    };
    const auto normal = [&](std::int64_t i) { return (At(Arg::kSrc, i) - mean) * inverse; };
    double shift = 0;
    double scale = 0;
    ForChannel(c, [&](std::int64_t i) {
      shift += gradient(i);
      scale += gradient(i) * normal(i);
    });
    Data<T>(Arg::kDiffShift)[c] = static_cast<T>(shift);
    Data<T>(Arg::kDiffScale)[c] = static_cast<T>(scale);
    ForChannel(c, [&](std::int64_t i) {
      Data<T>(Arg::kDiffSrc)[i] =
          static_cast<T>(At(Arg::kScale, c) * inverse *
                         (gradient(i) - shift / Count() - normal(i) * scale / Count()));
    });
  }

  const std::int64_t n_, c_, image_;
  const double epsilon_;
  const bool relu_;
  const double bound_;  // 0: none
};

const KernelRegistration kBatchNormReference("batchnorm", "reference",
                                             MakeReference<BatchNormOp, BatchNormReference>);

}  // namespace

}  // namespace topdnn
