#include "kernels/eltwise/gate_gradients.h"

#include <algorithm>
#include <array>
#include <memory>

#include "kernels/kernel/adjacent_channels.h"
#include "kernels/kernel/bound_kernel.h"
#include "kernels/kernel/omp_loops.h"
#include "kernels/tensor/bf16.h"

namespace topdnn {

namespace {

constexpr std::int64_t kPieceElements = 2048;  // of sources of the same shape
constexpr std::int64_t kMostChannels = 64;     // of a piece
// Rows whose sums are in f32. Those of the chunks are added in f64.
constexpr std::int64_t kRowsOfSum = 256;

template <typename T>
const T* In(const void* data) {
  return static_cast<const T*>(data);
}
template <typename T>
T* Out(void* data) {
  return static_cast<T*>(data);
}

class OmpGateGradients : public BoundKernel {
 public:
  OmpGateGradients(const KernelRequest& request, const BinaryOp& op, const Layout& layout)
      : BoundKernel(request, "omp loops"), gradients_(op, layout, request.execution.type) {
    for (KernelOperand& operand : operands_) operand.desc.layout = layout;
  }

  void Prepare(const std::map<Arg, void*>& memory) override {
    BoundKernel::Prepare(memory);
    data_ = gradients_.Bind(memory);
  }

  void Run() noexcept override {
    const std::int64_t n = gradients_.pieces();
#pragma omp parallel for if (n * gradients_.piece() >= kMinParallelElements)
    for (std::int64_t i = 0; i < n; ++i) gradients_.Run(data_, i, i + 1);
  }

 private:
  const GateGradients gradients_;
  GateGradients::Operands data_ = {};
};

}  // namespace

GateGradients::GateGradients(const BinaryOp& op, const Layout& layout, DataType type)
    : args_{op.first_arg(), op.second_arg(), Arg::kDiffDst, op.diff_first_arg(),
            op.diff_second_arg()},
      is_bf16_(type == DataType::kBF16),
      is_trained_(op.is_trained()),
      elements_(layout.PaddedElements(op.dst())),
      repeats_(op.is_trained() ? op.dst()[0] : 1),
      length_(op.dst().elements() / op.second().elements() / repeats_) {
  if (length_ == 1 && !is_trained_) {
    pieces_ = (elements_ + kPieceElements - 1) / kPieceElements;
  } else if (layout.IsPlainFor(op.dst())) {
    pieces_ = op.second().elements();
  } else {
    adjacent_ = AdjacentChannels(layout, op.dst());
    chunks_ = (adjacent_ + kMostChannels - 1) / kMostChannels;
    pieces_ = elements_ / repeats_ / (length_ * adjacent_) * chunks_;
  }
}

GateGradients::Operands GateGradients::Bind(const std::map<Arg, void*>& memory) const {
  return {memory.at(args_[0]), memory.at(args_[1]), memory.at(args_[2]), memory.at(args_[3]),
          memory.at(args_[4])};
}

void GateGradients::Run(const Operands& data, std::int64_t first, std::int64_t end) const {
  for (std::int64_t piece = first; piece < end; ++piece) {
    is_bf16_ ? RunIn<std::uint16_t>(data, piece) : RunIn<float>(data, piece);
  }
}

template <typename T>
void GateGradients::RunIn(const Operands& data, std::int64_t piece) const {
  if (length_ == 1 && !is_trained_) return Elements<T>(data, piece);
  adjacent_ == 0 ? Row<T>(data, piece) : Channels<T>(data, piece);
}

template <typename T>
void GateGradients::Elements(const Operands& data, std::int64_t piece) const {
  const std::int64_t at = piece * kPieceElements;
  const std::int64_t end = std::min(at + kPieceElements, elements_);
  const T *a = In<T>(data.first), *b = In<T>(data.second), *diff = In<T>(data.diff_dst);
  T *diff_a = Out<T>(data.diff_first), *diff_b = Out<T>(data.diff_second);
#pragma omp simd
  for (std::int64_t i = at; i < end; ++i) {
    diff_a[i] = FromF32<T>(ToF32(diff[i]) * ToF32(b[i]));
    diff_b[i] = FromF32<T>(ToF32(diff[i]) * ToF32(a[i]));
  }
}

template <typename T>
void GateGradients::Row(const Operands& data, std::int64_t row) const {
  const float gate = ToF32(In<T>(data.second)[row]);
  double sum = 0;
  for (std::int64_t image = 0; image < repeats_; ++image) {
    const std::int64_t start = image * (elements_ / repeats_) + row * length_;
    const T* a = In<T>(data.first) + start;
    const T* diff = In<T>(data.diff_dst) + start;
    T* diff_a = Out<T>(data.diff_first) + start;
    for (std::int64_t at = 0; at < length_; at += kRowsOfSum) {
      const std::int64_t end = std::min(at + kRowsOfSum, length_);
      float part = 0;
#pragma omp simd reduction(+ : part)
      for (std::int64_t i = at; i < end; ++i) {
        part += ToF32(diff[i]) * ToF32(a[i]);
        diff_a[i] = FromF32<T>(ToF32(diff[i]) * gate);
      }
      sum += static_cast<double>(part);
    }
  }
  StoreSum<T>(data, row, sum);
}

template <typename T>
void GateGradients::StoreSum(const Operands& data, std::int64_t i, double sum) const {
  if (is_trained_) {
    Out<float>(data.diff_second)[i] = static_cast<float>(sum);
  } else {
    Out<T>(data.diff_second)[i] = FromF32<T>(static_cast<float>(sum));
  }
}

// The padding channels of a block are 0 in all tensors, and stay 0.
template <typename T>
void GateGradients::Channels(const Operands& data, std::int64_t piece) const {
  const std::int64_t block = piece / chunks_;  // of all images
  const std::int64_t in_block = piece % chunks_ * kMostChannels;
  const std::int64_t width = std::min(kMostChannels, adjacent_ - in_block);
  const std::int64_t gates = block * adjacent_ + in_block;
  const std::int64_t start = block * length_ * adjacent_ + in_block;
  std::array<float, kMostChannels> gate{}, part{};
  std::array<double, kMostChannels> sum{};
  for (std::int64_t c = 0; c < width; ++c) gate[c] = ToF32(In<T>(data.second)[gates + c]);
  for (std::int64_t at = 0; at < repeats_ * length_; at += kRowsOfSum) {
    part.fill(0);
    for (std::int64_t row = at; row < std::min(at + kRowsOfSum, repeats_ * length_); ++row) {
      const std::int64_t image = row / length_ * (elements_ / repeats_);
      const std::int64_t place = image + start + row % length_ * adjacent_;
      const T* a = In<T>(data.first) + place;
      const T* diff = In<T>(data.diff_dst) + place;
      T* diff_a = Out<T>(data.diff_first) + place;
#pragma omp simd
      for (std::int64_t c = 0; c < width; ++c) {
        part[c] += ToF32(diff[c]) * ToF32(a[c]);
        diff_a[c] = FromF32<T>(ToF32(diff[c]) * gate[c]);
      }
    }
    for (std::int64_t c = 0; c < width; ++c) sum[c] += static_cast<double>(part[c]);
  }
  for (std::int64_t c = 0; c < width; ++c) StoreSum<T>(data, gates + c, sum[c]);
}

std::optional<Layout> GateLayout(const KernelRequest& request) {
  const auto& op = request.OpAs<BinaryOp>();
  std::optional<Layout> layout = CommonLayout(request, op.dst());
  if (!layout || layout->is_opaque()) return std::nullopt;
  for (const Arg arg : {Arg(Arg::kWeights), Arg(Arg::kDiffWeights)}) {
    const Layout settled = request.LayoutOf(arg);
    if (!settled.is_any() && !settled.SameFor(op.second(), *layout)) return std::nullopt;
  }
  const bool equal = op.first() == op.second();
  const bool by_channel = op.dst().rank() == 4 && op.second()[1] == op.dst()[1] &&
                          op.second()[2] == 1 && op.second()[3] == 1;
  const bool known = layout->IsPlainFor(op.dst()) ||
                     ((equal || by_channel) && AdjacentChannels(*layout, op.dst()) > 0);
  return known ? layout : std::nullopt;
}

KernelOrRefusal MakeGateGradients(const KernelRequest& request) {
  const DataType type = request.execution.type;
  if (type != DataType::kF32 && type != DataType::kBF16) {
    return Refusal{"the loops compute in f32 and bf16"};
  }
  const std::optional<Layout> layout = GateLayout(request);
  if (!layout) return Refusal{"the loops need one unblocked or channel-blocked layout for images"};
  return std::make_unique<OmpGateGradients>(request, request.OpAs<BinaryOp>(), *layout);
}

}  // namespace topdnn
