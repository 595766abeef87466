#include "kernels/dropout/loops.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/dropout/dropout.h"
#include "kernels/kernel/fidelity.h"
#include "kernels/kernel/omp_loops.h"
#include "kernels/kernel/registry.h"
#include "kernels/tensor/bf16.h"

namespace topdnn {

namespace {

// T is float, or std::uint16_t for bf16.
template <typename T>
class DropoutLoops : public LoopsKernel {
 public:
  DropoutLoops(const KernelRequest& request, const DropoutOp& op, const Layout& layout,
               std::function<RangeRunner()> make_runner)
      : LoopsKernel(request),
        n_(op.rows() ? layout.PaddedElements(op.shape()) : op.shape().elements()),
        row_(op.rows() ? n_ / op.shape()[0] : 0),
        mask_(op.mask()),
        scale_(static_cast<float>(op.scale())),
        make_runner_(std::move(make_runner)) {
    for (KernelOperand& operand : operands_) {
      if (operand.arg != Arg::kWorkspace && operand.arg != Arg::kStep) operand.desc.layout = layout;
    }
    if (!op.rows() && !layout.IsPlainFor(op.shape())) {
      scratch_bytes_ = static_cast<std::size_t>(n_) * sizeof(std::int64_t);
    }
  }

  void Prepare(const std::map<Arg, void*>& memory) override {
    LoopsKernel::Prepare(memory);
    const TensorDesc& desc = operands_.front().desc;  // src or diff_dst
    if (scratch_bytes_ != 0) offsets_ = desc.layout.Offsets(desc.shape);
    for_ranges_ = make_runner_();
  }

  void Run() noexcept override {
    if (pass() == Pass::kBackwardData) {
      Backward();
    } else if (training()) {
      ForwardTraining();
    } else {
      Copy();
    }
  }

 private:
  // The position in memory of the element at row-major position `i`.
  std::int64_t At(std::int64_t i) const {
    return offsets_.empty() ? i : offsets_[static_cast<std::size_t>(i)];
  }

  T Scaled(T value) const {
    if constexpr (std::is_same_v<T, float>) {
      return value * scale_;
    } else {
      return Bf16FromFloat(Bf16ToFloat(value) * scale_);
    }
  }

  // The threads share the blocks of four elements, for which Philox draws four numbers at once.
  std::int64_t Blocks() const { return (n_ + 3) / 4; }

  // The bodies capture only `this`, so that a std::function of them allocates nothing.
  void ForwardTraining() {
    for_ranges_(Blocks(), [this](std::int64_t first, std::int64_t end) {
      row_ > 0 ? DrawRows(first, end) : Draw(first, end);
    });
    auto* step = Data<std::int32_t>(Arg::kStep);
    *step = static_cast<std::int32_t>(static_cast<std::uint32_t>(*step) + 1);
  }

  void Draw(std::int64_t first_block, std::int64_t end_block) const {
    const T* src = Data<T>(Arg::kSrc);
    T* dst = Data<T>(Arg::kDst);
    auto* workspace = Data<std::uint8_t>(Arg::kWorkspace);
    const std::int32_t drawn = *Data<std::int32_t>(Arg::kStep);
    for (std::int64_t block = first_block; block < end_block; ++block) {
      const auto stays = mask_.Block(block, drawn);
      const std::int64_t first = 4 * block;
      for (std::int64_t i = first; i < std::min(first + 4, n_); ++i) {
        const std::uint8_t stay = stays[static_cast<std::size_t>(i - first)];
        workspace[i] = stay;
        dst[At(i)] = stay == 0 ? T{0} : Scaled(src[At(i)]);
      }
    }
  }

  // The thread of a row's first element stores the row's mask.
  void DrawRows(std::int64_t first_block, std::int64_t end_block) const {
    const std::int32_t drawn = *Data<std::int32_t>(Arg::kStep);
    ForRows(first_block, end_block, [&](std::int64_t row, std::int64_t first, std::int64_t end) {
      const std::uint8_t stay = mask_.Block(row / 4, drawn)[static_cast<std::size_t>(row % 4)];
      if (first == row * row_) Data<std::uint8_t>(Arg::kWorkspace)[row] = stay;
      ScaleRow(Data<T>(Arg::kSrc), stay, first, end, Data<T>(Arg::kDst));
    });
  }

  // Calls body(row, first, end) for the part of each row in the range.
  template <typename Body>
  void ForRows(std::int64_t first_block, std::int64_t end_block, const Body& body) const {
    const std::int64_t end = std::min(4 * end_block, n_);
    for (std::int64_t at = 4 * first_block; at < end;) {
      const std::int64_t row = at / row_, end_of_row = std::min((row + 1) * row_, end);
      body(row, at, end_of_row);
      at = end_of_row;
    }
  }

  void ScaleRow(const T* from, std::uint8_t stay, std::int64_t first, std::int64_t end,
                T* to) const {
    for (std::int64_t i = first; i < end; ++i) to[i] = stay == 0 ? T{0} : Scaled(from[i]);
  }

  void Backward() const {
    for_ranges_(Blocks(), [this](std::int64_t first, std::int64_t end) {
      row_ > 0 ? MaskRows(first, end) : Mask(first, end);
    });
  }

  void MaskRows(std::int64_t first_block, std::int64_t end_block) const {
    const auto* workspace = Data<std::uint8_t>(Arg::kWorkspace);
    ForRows(first_block, end_block, [&](std::int64_t row, std::int64_t first, std::int64_t end) {
      ScaleRow(Data<T>(Arg::kDiffDst), workspace[row], first, end, Data<T>(Arg::kDiffSrc));
    });
  }

  void Mask(std::int64_t first_block, std::int64_t end_block) const {
    const T* diff_dst = Data<T>(Arg::kDiffDst);
    T* diff_src = Data<T>(Arg::kDiffSrc);
    const auto* workspace = Data<std::uint8_t>(Arg::kWorkspace);
    for (std::int64_t i = 4 * first_block; i < std::min(4 * end_block, n_); ++i) {
      diff_src[At(i)] = workspace[i] == 0 ? T{0} : Scaled(diff_dst[At(i)]);
    }
  }

  void Copy() const {
    if (Data<T>(Arg::kSrc) == Data<T>(Arg::kDst)) return;
    for_ranges_(Blocks(), [this](std::int64_t first, std::int64_t end) {
      const T* src = Data<T>(Arg::kSrc);
      std::copy(src + 4 * first, src + std::min(4 * end, n_), Data<T>(Arg::kDst) + 4 * first);
    });
  }

  const std::int64_t n_;
  const std::int64_t row_;  // elements of a row that is dropped as a whole; 0: single elements
  const DropoutMask mask_;
  const float scale_;
  const std::function<RangeRunner()> make_runner_;
  RangeRunner for_ranges_;
  std::vector<std::int64_t> offsets_;  // empty: row-major
};

// The reason why the loops cannot serve the request; empty when they can.
std::string RefusalOf(const KernelRequest& request, const DropoutOp& op,
                      const std::optional<Layout>& layout) {
  const Shape& shape = op.shape();
  const DataType type = request.execution.type;
  if (type != DataType::kF32 && type != DataType::kBF16) {
    return fmt::format("the loops of dropout compute in f32 and bf16, not {}", NameOf(type));
  }
  if (!layout) return "the loops of dropout need one layout for both tensors";
  const bool fits =
      !layout->is_opaque() && (op.rows() ? layout->tag().starts_with('a')
                                         : layout->PaddedElements(shape) == shape.elements());
  if (!fits) {
    return fmt::format("the loops of dropout need a layout without padding, not {} for {}",
                       layout->tag(), shape.ToString());
  }
  const Layout mask = request.LayoutOf(Arg::kWorkspace);
  if (!mask.is_any() && !mask.IsPlainFor(op.mask_shape())) {
    return fmt::format("the loops of dropout keep their mask row-major, not {}", mask.tag());
  }
  return {};
}

RangeRunner OnOpenMp() {
  return [](std::int64_t blocks, const std::function<void(std::int64_t, std::int64_t)>& body) {
    DivideEvenly(blocks, 4 * blocks >= kMinParallelElements, body);
  };
}

KernelOrRefusal MakeLoopsDropout(const KernelRequest& request) {
  return MakeDropoutLoops(request, OnOpenMp);
}

const KernelRegistration kOnNative("dropout", "native", MakeLoopsDropout);
const FidelityDeclaration kLoopsFidelity(
    {"dropout", "native", Fidelity::kOurs,
     "a loop with Philox numbers; Caffe draws a mask and multiplies, on one thread",
     "layers/dropout_layer.cpp"});

}  // namespace

KernelOrRefusal MakeDropoutLoops(const KernelRequest& request,
                                 std::function<RangeRunner()> make_runner) {
  const auto& op = request.OpAs<DropoutOp>();
  const auto layout = CommonLayout(request, op.shape());
  if (std::string why = RefusalOf(request, op, layout); !why.empty()) {
    return Refusal{std::move(why)};
  }
  if (request.execution.type == DataType::kBF16) {
    return std::make_unique<DropoutLoops<std::uint16_t>>(request, op, *layout,
                                                         std::move(make_runner));
  }
  return std::make_unique<DropoutLoops<float>>(request, op, *layout, std::move(make_runner));
}

}  // namespace topdnn
