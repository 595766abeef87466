#include "kernels/bias/loops.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>

#include "kernels/kernel/fidelity.h"
#include "kernels/kernel/native.h"
#include "kernels/kernel/omp_loops.h"
#include "kernels/kernel/registry.h"
#include "kernels/tensor/bf16.h"

namespace topdnn {

std::optional<ChannelBlocks> ChannelBlocksOf(const Shape& shape, const Layout& layout) {
  const std::int64_t pixels = shape.elements() / shape[0] / shape[1];
  const ChannelBlocks last{shape[0], 1, pixels, shape[1]};
  if (layout.SameFor(shape, Layout::ChannelsLast(shape.rank()))) return last;
  if (layout.IsPlainFor(shape)) return ChannelBlocks{shape[0], shape[1], pixels, 1};
  std::string blocked = Layout::Plain(shape.rank()).tag();
  blocked[1] = 'B';
  for (const std::int64_t width : {4, 8, 16, 32}) {
    const auto tag = Layout::Parse(fmt::format("{}{}b", blocked, width));
    if (tag && layout.SameFor(shape, *tag)) {
      return ChannelBlocks{shape[0], (shape[1] + width - 1) / width, pixels, width};
    }
  }
  return std::nullopt;
}

namespace {

template <typename T>
class BiasLoops : public LoopsKernel {
 public:
  BiasLoops(const KernelRequest& request, const ChannelBlocks& form)
      : LoopsKernel(request),
        form_(form),
        padded_(form.blocks * form.width),
        channels_(request.op->Operands(request.execution).front().shape[1]) {
    // Scratch rows of padded channels. Forward: the bias. Backward: one row of partial sums per
    // thread.
    const std::int64_t rows = pass() == Pass::kForward ? 1 : request.threads;
    ReserveScratch(rows * padded_);
  }

  void Run() noexcept override { pass() == Pass::kForward ? Forward() : Backward(); }

 private:
  bool InParallel() const { return form_.images * padded_ * form_.pixels >= kMinParallelElements; }

  void Forward() const {
    float* bias = Scratch();  // padded channels stay 0
    std::copy_n(Data<float>(Arg::kBias), channels_, bias);
    const std::int64_t width = form_.width;
#pragma omp parallel for collapse(2) if (InParallel())
    for (std::int64_t n = 0; n < form_.images; ++n) {
      for (std::int64_t k = 0; k < form_.blocks; ++k) {
        const std::int64_t start = (n * form_.blocks + k) * form_.pixels * width;
        const T* src = Data<T>(Arg::kSrc) + start;
        T* dst = Data<T>(Arg::kDst) + start;
        if (width == 1) {
          AddToPlane(src, bias[k], dst);
        } else {
          AddToPixels(src, bias + k * width, dst);
        }
      }
    }
  }

  void AddToPlane(const T* src, float bias, T* dst) const {
#pragma omp simd
    for (std::int64_t i = 0; i < form_.pixels; ++i) dst[i] = FromF32<T>(ToF32(src[i]) + bias);
  }

  void AddToPixels(const T* src, const float* bias, T* dst) const {
    for (std::int64_t pixel = 0; pixel < form_.pixels; ++pixel) {
      const std::int64_t at = pixel * form_.width;
#pragma omp simd
      for (std::int64_t i = 0; i < form_.width; ++i) {
        dst[at + i] = FromF32<T>(ToF32(src[at + i]) + bias[i]);
      }
    }
  }

  // Each thread sums the elements that it reads; then the threads add these sums, each for a part
  // of the channels.
  void Backward() const {
#pragma omp parallel if (InParallel())
    {
      float* own = Scratch() + omp_get_thread_num() * padded_;
      std::fill_n(own, padded_, 0.0F);
#pragma omp for collapse(2) schedule(static)
      for (std::int64_t n = 0; n < form_.images; ++n) {
        for (std::int64_t k = 0; k < form_.blocks; ++k) {
          const T* block =
              Data<T>(Arg::kDiffDst) + (n * form_.blocks + k) * form_.pixels * form_.width;
          form_.width == 1 ? SumPlane(block, own + k) : SumPixels(block, own + k * form_.width);
        }
      }
      AddRowsOfThreads(Scratch(), padded_, channels_, Data<float>(Arg::kDiffBias));
    }
  }

  void SumPlane(const T* plane, float* result) const {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < form_.pixels; ++i) sum += ToF32(plane[i]);
    *result += sum;
  }

  void SumPixels(const T* block, float* sums) const {
    for (std::int64_t pixel = 0; pixel < form_.pixels; ++pixel) {
      const T* of_pixel = block + pixel * form_.width;
#pragma omp simd
      for (std::int64_t i = 0; i < form_.width; ++i) sums[i] += ToF32(of_pixel[i]);
    }
  }

  const ChannelBlocks form_;
  const std::int64_t padded_, channels_;
};

// Makes the loops for tensors in `layout`, and a plain bias.
KernelOrRefusal MakeLoopsOn(KernelRequest request, const Layout& layout) {
  for (const Operand& operand : request.op->Operands(request.execution)) {
    const bool is_vector = operand.arg == Arg::kBias || operand.arg == Arg::kDiffBias;
    const Layout settled = request.LayoutOf(operand.arg);
    const Layout wanted = is_vector ? Layout::Plain(1) : layout;
    if (!settled.is_any() && !settled.SameFor(operand.shape, wanted)) {
      return Refusal{
          fmt::format("the loops add a bias in one layout: {} must be in layout {}, not {}",
                      NameOf(operand.arg), wanted.tag(), settled.tag())};
    }
    request.layouts[operand.arg] = wanted;
  }
  const auto& op = request.OpAs<BiasOp>();
  const auto form = ChannelBlocksOf(op.shape(), layout);
  if (!form) return Refusal{"the loops do not support a bias in layout " + layout.tag()};
  if (request.execution.type == DataType::kBF16) {
    return std::make_unique<BiasLoops<std::uint16_t>>(request, *form);
  }
  return std::make_unique<BiasLoops<float>>(request, *form);
}

const KernelRegistration kLoops("bias", kNative, MakeBiasLoops);
const FidelityDeclaration kLoopsFidelity(
    {"bias", "native", Fidelity::kOurs,
     "loops; Caffe multiplies by a row of ones (gemm), and sums by gemv", "layers/bias_layer.cpp"});

}  // namespace

KernelOrRefusal MakeBiasLoops(const KernelRequest& request) {
  if (request.execution.type != DataType::kF32 && request.execution.type != DataType::kBF16) {
    return Refusal{fmt::format("the loops add a bias in f32 and bf16, not {}",
                               NameOf(request.execution.type))};
  }
  Layout layout = Layout::Plain(request.op->Operands(request.execution).front().shape.rank());
  for (const Arg arg : {Arg::kDst, Arg::kSrc, Arg::kDiffDst}) {
    if (const Layout settled = request.LayoutOf(arg); !settled.is_any()) layout = settled;
  }
  return MakeLoopsOn(request, layout);
}

}  // namespace topdnn
