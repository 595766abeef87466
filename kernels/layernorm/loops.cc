// Layer normalization as vectorised loops in f32 and bf16, channels last: a pixel is then one row.

#include <omp.h>

#include <algorithm>
#include <cmath>

#include "kernels/kernel/fidelity.h"
#include "kernels/kernel/native.h"
#include "kernels/kernel/omp_loops.h"
#include "kernels/kernel/registry.h"
#include "kernels/layernorm/layernorm.h"
#include "kernels/tensor/bf16.h"

namespace topdnn {

namespace {

template <typename T>
class LayerNormLoops : public LoopsKernel {
 public:
  LayerNormLoops(const KernelRequest& request, const LayerNormOp& op)
      : LoopsKernel(request), c_(op.channels()), rows_(op.pixels()), epsilon_(op.epsilon()) {
    // Sums of each thread: of diff_dst * x^, and of diff_dst.
    if (!forward()) ReserveScratch(2 * request.threads * c_);
  }

  void Run() noexcept override { forward() ? Forward() : Backward(); }

 private:
  bool InParallel() const { return rows_ * c_ >= kMinParallelElements; }
  float Mean(float sum) const { return sum / static_cast<float>(c_); }

  void Forward() const {
    float* means = Data<float>(Arg::kMean);
    float* variances = Data<float>(Arg::kVariance);
#pragma omp parallel for if (InParallel())
    for (std::int64_t row = 0; row < rows_; ++row) {
      const T* src = Data<T>(Arg::kSrc) + row * c_;
      const auto [mean, variance] = Statistics(src);
      Normalize(src, mean, 1 / std::sqrt(variance + epsilon_), Data<T>(Arg::kDst) + row * c_);
      if (means == nullptr) continue;
      means[row] = mean;
      variances[row] = variance;
    }
  }

  std::pair<float, float> Statistics(const T* src) const {
    float sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t c = 0; c < c_; ++c) sum += ToF32(src[c]);
    const float mean = Mean(sum);
#pragma omp simd reduction(+ : squares)
    for (std::int64_t c = 0; c < c_; ++c) {
      squares += (ToF32(src[c]) - mean) * (ToF32(src[c]) - mean);
    }
    return {mean, Mean(squares)};
  }

  void Normalize(const T* src, float mean, float inverse, T* dst) const {
    const float* scale = Data<float>(Arg::kScale);
    const float* shift = Data<float>(Arg::kShift);
#pragma omp simd
    for (std::int64_t c = 0; c < c_; ++c) {
      dst[c] = FromF32<T>((ToF32(src[c]) - mean) * inverse * scale[c] + shift[c]);
    }
  }

  // Each thread sums the gradients of its rows; then the threads add these sums, each for a part of
  // the channels.
  void Backward() const {
#pragma omp parallel if (InParallel())
    {
      float* own = Scratch() + 2 * omp_get_thread_num() * c_;
      std::fill_n(own, 2 * c_, 0.0F);
#pragma omp for schedule(static)
      for (std::int64_t row = 0; row < rows_; ++row) Gradients(row, own);
      AddRowsOfThreads(Scratch(), 2 * c_, c_, Data<float>(Arg::kDiffScale));
      AddRowsOfThreads(Scratch() + c_, 2 * c_, c_, Data<float>(Arg::kDiffShift));
    }
  }

  // With g = scale * diff_dst: diff_src = (g - mean(g) - x^ * mean(g * x^)) / deviation.
  void Gradients(std::int64_t row, float* sums) const {
    const T* src = Data<T>(Arg::kSrc) + row * c_;
    const T* diff = Data<T>(Arg::kDiffDst) + row * c_;
    const float* scale = Data<float>(Arg::kScale);
    const float mean = Data<float>(Arg::kMean)[row];
    const float inverse = 1 / std::sqrt(Data<float>(Arg::kVariance)[row] + epsilon_);
    float sum = 0, products = 0;
#pragma omp simd reduction(+ : sum, products)
    for (std::int64_t c = 0; c < c_; ++c) {
      const float gradient = ToF32(diff[c]);
      const float product = gradient * (ToF32(src[c]) - mean) * inverse;
      sums[c] += product;
      sums[c_ + c] += gradient;
      sum += gradient * scale[c];
      products += product * scale[c];
    }
    T* diff_src = Data<T>(Arg::kDiffSrc) + row * c_;
    const float mean_sum = Mean(sum), mean_product = Mean(products);
#pragma omp simd
    for (std::int64_t c = 0; c < c_; ++c) {
      const float normal = (ToF32(src[c]) - mean) * inverse;
      diff_src[c] =
          FromF32<T>(inverse * (ToF32(diff[c]) * scale[c] - mean_sum - normal * mean_product));
    }
  }

  const std::int64_t c_, rows_;
  const float epsilon_;
};

KernelOrRefusal MakeLoopsLayerNorm(const KernelRequest& given) {
  const DataType type = given.execution.type;
  if (type != DataType::kF32 && type != DataType::kBF16) {
    return Refusal{fmt::format("the loops normalize in f32 and bf16, not {}", NameOf(type))};
  }
  const auto& op = given.OpAs<LayerNormOp>();
  KernelRequest request = given;
  for (const Operand& operand : op.Operands(request.execution)) {
    const Layout wanted =
        operand.shape.rank() == 1 ? Layout::Plain(1) : Layout::ChannelsLast(operand.shape.rank());
    const Layout settled = request.LayoutOf(operand.arg);
    if (!settled.is_any() && !settled.SameFor(operand.shape, wanted)) {
      return Refusal{
          fmt::format("the loops normalize channels last: {} must be in layout {}, not {}",
                      NameOf(operand.arg), wanted.tag(), settled.tag())};
    }
    request.layouts[operand.arg] = wanted;
  }
  if (type == DataType::kBF16) return std::make_unique<LayerNormLoops<std::uint16_t>>(request, op);
  return std::make_unique<LayerNormLoops<float>>(request, op);
}

const KernelRegistration kLoops("layernorm", kNative, MakeLoopsLayerNorm);
const FidelityDeclaration kLoopsFidelity({"layernorm", "native", Fidelity::kOurs,
                                          "loops over the rows of channels; Caffe has none",
                                          "layers/mvn_layer.cpp"});

}  // namespace

}  // namespace topdnn
