// Batch normalization as loops over the channels of row-major tensors. Each row is summed in f32;
// the sums of a channel's rows are added in double.

#include <cmath>
#include <limits>
#include <optional>

#include "kernels/batchnorm/batchnorm.h"
#include "kernels/batchnorm/channel_loops.h"
#include "kernels/kernel/adjacent_channels.h"
#include "kernels/kernel/fidelity.h"
#include "kernels/kernel/native.h"
#include "kernels/kernel/omp_loops.h"
#include "kernels/kernel/registry.h"
#include "kernels/simd/vector_isa.h"

namespace topdnn {

namespace {

// Sum of term(i) over a row of `length`.
template <typename Term>
inline double RowSum(std::int64_t length, Term term) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < length; ++i) sum += term(i);
  return static_cast<double>(sum);
}

class BatchNormLoops : public LoopsKernel {
 public:
  BatchNormLoops(const KernelRequest& request, const BatchNormOp& op)
      : LoopsKernel(request),
        n_(op.batch()),
        c_(op.channels()),
        image_(op.image()),
        epsilon_(op.epsilon()),
        relu_(op.relu()),
        bound_(op.relu_bound() != 0 ? op.relu_bound() : std::numeric_limits<float>::infinity()) {}

  void Run() noexcept override {
#pragma omp parallel for if (n_ * c_ * image_ >= kMinParallelElements)
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
  std::int64_t Row(std::int64_t n, std::int64_t c) const { return (n * c_ + c) * image_; }
  double Count() const { return static_cast<double>(n_ * image_); }
  float InverseDeviation(std::int64_t c) const {
    return 1.0F / std::sqrt(Data<float>(Arg::kVariance)[c] + epsilon_);
  }

  void Statistics(std::int64_t c) const {
    const float* src = Data<float>(Arg::kSrc);
    double sum = 0;
    for (std::int64_t n = 0; n < n_; ++n) {
      const float* row = src + Row(n, c);
      sum += RowSum(image_, [row](std::int64_t i) { return row[i]; });
    }
    const auto mean = static_cast<float>(sum / Count());
    double squares = 0;
    for (std::int64_t n = 0; n < n_; ++n) {
      const float* row = src + Row(n, c);
      squares += RowSum(image_, [row, mean](std::int64_t i) {
        const float difference = row[i] - mean;
        return difference * difference;
      });
    }
    Data<float>(Arg::kMean)[c] = mean;
    Data<float>(Arg::kVariance)[c] = static_cast<float>(squares / Count());
  }

  void Normalize(std::int64_t c) const {
    const float mean = Data<float>(Arg::kMean)[c];
    const float factor = Data<float>(Arg::kScale)[c] * InverseDeviation(c);
    const float shift = Data<float>(Arg::kShift)[c];
    auto* passed = Data<std::uint8_t>(Arg::kWorkspace);
    for (std::int64_t n = 0; n < n_; ++n) {
      const float* src = Data<float>(Arg::kSrc) + Row(n, c);
      float* dst = Data<float>(Arg::kDst) + Row(n, c);
      if (!relu_) {
#pragma omp simd
        for (std::int64_t i = 0; i < image_; ++i) dst[i] = (src[i] - mean) * factor + shift;
        continue;
      }
      std::uint8_t* mask = passed == nullptr ? nullptr : passed + Row(n, c);
#pragma omp simd
      for (std::int64_t i = 0; i < image_; ++i) {
        const float y = (src[i] - mean) * factor + shift;
        dst[i] = y < 0 ? 0.0F : (y > bound_ ? bound_ : y);
        if (mask != nullptr) mask[i] = y > 0 && y < bound_ ? 1 : 0;
      }
    }
  }

  void Backward(std::int64_t c) const { relu_ ? Backward<true>(c) : Backward<false>(c); }

  template <bool kRelu>
  void Backward(std::int64_t c) const {
    const float mean = Data<float>(Arg::kMean)[c];
    double sum = 0;
    double products = 0;
    for (std::int64_t n = 0; n < n_; ++n) {
      const BackwardOperands row = BackwardRow(n, c);
      sum += RowSum(image_, [row](std::int64_t i) {
        return kRelu && row.passed[i] == 0 ? 0.0F : row.diff_dst[i];
      });
      products += RowSum(image_, [row, mean](std::int64_t i) {
        return kRelu && row.passed[i] == 0 ? 0.0F : row.diff_dst[i] * (row.src[i] - mean);
      });
    }
    const float inverse = InverseDeviation(c);
    const double scale = products * static_cast<double>(inverse);
    Data<float>(Arg::kDiffShift)[c] = static_cast<float>(sum);
    Data<float>(Arg::kDiffScale)[c] = static_cast<float>(scale);
    const auto mean_gradient = static_cast<float>(sum / Count());
    const auto slope = static_cast<float>(scale * static_cast<double>(inverse) / Count());
    const float factor = Data<float>(Arg::kScale)[c] * inverse;
    for (std::int64_t n = 0; n < n_; ++n) {
      const BackwardOperands row = BackwardRow(n, c);
      float* diff_src = Data<float>(Arg::kDiffSrc) + Row(n, c);
#pragma omp simd
      for (std::int64_t i = 0; i < image_; ++i) {
        const float gradient = kRelu && row.passed[i] == 0 ? 0.0F : row.diff_dst[i];
        diff_src[i] = factor * (gradient - mean_gradient - (row.src[i] - mean) * slope);
      }
    }
  }

  struct BackwardOperands {
    const float* src;
    const float* diff_dst;
    const std::uint8_t* passed;
  };

  BackwardOperands BackwardRow(std::int64_t n, std::int64_t c) const {
    const auto* passed = Data<std::uint8_t>(Arg::kWorkspace);
    return {Data<float>(Arg::kSrc) + Row(n, c), Data<float>(Arg::kDiffDst) + Row(n, c),
            passed == nullptr ? nullptr : passed + Row(n, c)};
  }

  const std::int64_t n_, c_, image_;
  const float epsilon_;
  const bool relu_;
  const float bound_;  // infinity: none
};

// Whether the request settles the images in a layout of the channel loops.
bool HasAdjacentChannels(const KernelRequest& request, const BatchNormOp& op) {
  const std::optional<Layout> layout = CommonLayout(request, op.shape());
  return layout && AdjacentChannels(*layout, op.shape()) != 0;
}

KernelOrRefusal MakeBatchNormLoops(const KernelRequest& request, const BatchNormOp& op) {
  if (request.algorithm == kChannelLoops) return MakeBatchNormChannelLoops(request);
  if (op.relu_bound() != 0) {
    // Without vectors of the loops' ISAs, two kernels of oneDNN are faster.
    if (WidestVectorIsa().empty()) return Refusal{"the loops fuse a bounded ReLU on AVX2 or wider"};
    if (HasAdjacentChannels(request, op)) return MakeBatchNormChannelLoops(request);
  }
  return MakeLoops<BatchNormOp, BatchNormLoops>(request);
}

const KernelRegistration kLoops("batchnorm", kNative, MakeBatchNormLoops);
const FidelityDeclaration kLoopsFidelity({"batchnorm", "native", Fidelity::kOurs,
                                          "loops; Caffe sums by gemv and spreads the sums by gemm",
                                          "layers/batch_norm_layer.cpp"});

}  // namespace

}  // namespace topdnn
