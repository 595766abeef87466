// Layer normalization by its definition: plain loops over row-major tensors, sums in double.

#include "kernels/kernel/reference.h"

#include <cmath>

#include "kernels/kernel/registry.h"
#include "kernels/layernorm/layernorm.h"

namespace topdnn {

namespace {

template <typename T>
class LayerNormReference : public ReferenceKernel {
 public:
  LayerNormReference(const KernelRequest& request, const LayerNormOp& op)
      : ReferenceKernel(request),
        c_(op.channels()),
        pixels_(op.pixels()),
        plane_(pixels_ / op.shape()[0]),
        epsilon_(static_cast<double>(op.epsilon())) {}

  void Run() noexcept override {
    if (forward()) {
#pragma omp parallel for
      for (std::int64_t p = 0; p < pixels_; ++p) Normalize(p);
      return;
    }
#pragma omp parallel for
    for (std::int64_t p = 0; p < pixels_; ++p) GradientOfPixel(p);
#pragma omp parallel for
    for (std::int64_t c = 0; c < c_; ++c) GradientOfChannel(c);
  }

 private:
  double Of(Arg arg, std::int64_t i) const { return static_cast<double>(Data<T>(arg)[i]); }
  // The position of channel c of pixel p.
  std::int64_t At(std::int64_t p, std::int64_t c) const {
    return (p / plane_ * c_ + c) * plane_ + p % plane_;
  }
  double Count() const { return static_cast<double>(c_); }

  void Normalize(std::int64_t p) const {
    double mean = 0, variance = 0;
    for (std::int64_t c = 0; c < c_; ++c) mean += Of(Arg::kSrc, At(p, c)) / Count();
    for (std::int64_t c = 0; c < c_; ++c) {
      const double difference = Of(Arg::kSrc, At(p, c)) - mean;
      variance += difference * difference / Count();
    }
    for (std::int64_t c = 0; c < c_; ++c) {
      const double normal = (Of(Arg::kSrc, At(p, c)) - mean) / std::sqrt(variance + epsilon_);
      Data<T>(Arg::kDst)[At(p, c)] =
          static_cast<T>(Of(Arg::kScale, c) * normal + Of(Arg::kShift, c));
    }
    if (Data<T>(Arg::kMean) == nullptr) return;
    Data<T>(Arg::kMean)[p] = static_cast<T>(mean);
    Data<T>(Arg::kVariance)[p] = static_cast<T>(variance);
  }

  double Inverse(std::int64_t p) const { return 1 / std::sqrt(Of(Arg::kVariance, p) + epsilon_); }
  // x^, the normalized value.
  double Normal(std::int64_t p, std::int64_t c) const {
    return (Of(Arg::kSrc, At(p, c)) - Of(Arg::kMean, p)) * Inverse(p);
  }

  // With g = scale * diff_dst: diff_src = (g - mean(g) - x^ * mean(g * x^)) / deviation.
  void GradientOfPixel(std::int64_t p) const {
    const auto g = [&](std::int64_t c) { return Of(Arg::kScale, c) * Of(Arg::kDiffDst, At(p, c)); };
    double sum = 0, products = 0;
    for (std::int64_t c = 0; c < c_; ++c) {
      sum += g(c);
      products += g(c) * Normal(p, c);
    }
    for (std::int64_t c = 0; c < c_; ++c) {
      Data<T>(Arg::kDiffSrc)[At(p, c)] =
          static_cast<T>(Inverse(p) * (g(c) - sum / Count() - Normal(p, c) * products / Count()));
    }
  }

  void GradientOfChannel(std::int64_t c) const {
    double scale = 0, shift = 0;
    for (std::int64_t p = 0; p < pixels_; ++p) {
      scale += Of(Arg::kDiffDst, At(p, c)) * Normal(p, c);
      shift += Of(Arg::kDiffDst, At(p, c));
    }
    Data<T>(Arg::kDiffScale)[c] = static_cast<T>(scale);
    Data<T>(Arg::kDiffShift)[c] = static_cast<T>(shift);
  }

  const std::int64_t c_, pixels_, plane_;  // plane: the pixels of an image
  const double epsilon_;
};

const KernelRegistration kLayerNormReference("layernorm", "reference",
                                             MakeReference<LayerNormOp, LayerNormReference>);

}  // namespace

}  // namespace topdnn
