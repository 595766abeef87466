#include "kernels/pool/max_loops.h"

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "kernels/kernel/adjacent_channels.h"
#include "kernels/kernel/bound_kernel.h"
#include "kernels/kernel/omp_loops.h"
#include "kernels/pool/max_row.h"
#include "kernels/pool/pool.h"
#include "kernels/simd/vector_isa.h"

namespace topdnn {

namespace {

struct RowFunctions {
  VectorLanes vectors;
  MaxRowFunction forward;
  MaxRowFunction (*backward)(const MaxRows& rows);
};

// The widest that this CPU has and the channels fill; of 4 lanes if they fill none.
RowFunctions FunctionsFor(std::int64_t channels) {
  const VectorLanes vectors =
      WidestVectors([channels](std::int64_t lanes) { return channels >= lanes; });
#if defined(__x86_64__)
  if (vectors.lanes == 16) return {vectors, MaxRowAvx512, MaxGradientRowAvx512};
  if (vectors.lanes == 8) return {vectors, MaxRowAvx2, MaxGradientRowAvx2};
#endif
  return {vectors, MaxRowOf<4>, MaxGradientRowOf<4>};
}

MaxRows RowsOf(const PoolExtents& e, std::int64_t channels) {
  return {.h = e.h,
          .w = e.w,
          .channels = channels,
          .oh = e.oh(),
          .ow = e.ow(),
          .r = e.r,
          .s = e.s,
          .stride_h = e.stride_h,
          .stride_w = e.stride_w,
          .pad_top = e.pad_top,
          .pad_left = e.pad_left};
}

class MaxLoops : public BoundKernel {
 public:
  // Calls run(rows, piece, y) for each piece and each y from `first` to before `end`.
  MaxLoops(const KernelRequest& request, const Layout& layout, std::string_view isa,
           MaxRowFunction run, const MaxRows& rows, std::int64_t first, std::int64_t end)
      : BoundKernel(request, "channel loops", std::string(isa)),
        run_(run),
        pieces_(layout.PaddedElements(request.OpAs<PoolOp>().src_shape()) /
                (rows.h * rows.w * rows.channels)),
        first_(first),
        end_(end),
        rows_(rows) {
    for (KernelOperand& operand : operands_) {
      operand.desc.layout = layout;
      if (operand.arg == Arg::kWorkspace) operand.desc.type = DataType::kU8;
    }
  }

  void Prepare(const std::map<Arg, void*>& memory) override {
    BoundKernel::Prepare(memory);
    rows_.src = Data(Arg::kSrc);
    rows_.dst = Data(Arg::kDst);
    rows_.winners = Data<std::uint8_t>(Arg::kWorkspace);
    rows_.diff_dst = Data(Arg::kDiffDst);
    rows_.diff_src = Data(Arg::kDiffSrc);
  }

  void Run() noexcept override {
    const std::int64_t in_piece = end_ - first_;
    const std::int64_t all = pieces_ * in_piece;
#pragma omp parallel for if (all * rows_.ow * rows_.channels >= kMinParallelElements)
    for (std::int64_t row = 0; row < all; ++row) {
      run_(rows_, row / in_piece, first_ + row % in_piece);
    }
  }

 private:
  const MaxRowFunction run_;
  const std::int64_t pieces_, first_, end_;
  MaxRows rows_;
};

}  // namespace

KernelOrRefusal MakeMaxLoops(const KernelRequest& request) {
  const auto& op = request.OpAs<PoolOp>();
  if (op.algorithm() != PoolAlgorithm::kMax || request.execution.type != DataType::kF32) {
    return Refusal{"the channel loops compute a maximum in f32"};
  }
  if (std::string why = RecomputingRefusal(request, "the channel loops"); !why.empty()) {
    return Refusal{std::move(why)};
  }
  if (op.extents().r * op.extents().s > 255) {
    return Refusal{"the channel loops have windows of at most 255 elements"};
  }
  std::optional<Layout> common = CommonLayout(request);
  const Layout winners = request.LayoutOf(Arg::kWorkspace);
  if (common && common->is_any()) common = winners;
  if (!common || !(winners.is_any() || winners == *common)) {
    return Refusal{"the channel loops need one layout for all tensors"};
  }
  const Layout layout = common->is_any() ? Layout::ChannelsLast(4) : *common;
  const std::int64_t channels = AdjacentChannels(layout, op.src_shape());
  const RowFunctions functions = FunctionsFor(channels);
  if (channels < functions.vectors.lanes) {
    return Refusal{
        fmt::format("the channel loops need four channels next to each other, and {} "
                    "of {} channels has fewer",
                    layout.tag(), op.extents().c)};
  }
  const PoolExtents& e = op.extents();
  const MaxRows rows = RowsOf(e, channels);
  if (request.execution.pass == Pass::kForward) {
    return std::make_unique<MaxLoops>(request, layout, functions.vectors.isa, functions.forward,
                                      rows, 0, rows.oh);
  }
  const MaxRowFunction backward = functions.backward(rows);
  if (backward == nullptr) {
    return Refusal{
        "the channel loops have gradients for windows of 2x2 with strides of 2, and for "
        "windows of 3x3 with strides of 1 or 2"};
  }
  return std::make_unique<MaxLoops>(request, layout, functions.vectors.isa, backward, rows,
                                    e.pad_top / e.stride_h, (e.h - 1 + e.pad_top) / e.stride_h + 1);
}

}  // namespace topdnn
