#include "kernels/pool/max_loops.h"

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "kernels/bound_kernel.h"
#include "kernels/omp_loops.h"
#include "kernels/pool/max_row.h"
#include "kernels/pool/pool.h"
#include "kernels/vector_isa.h"

namespace topdnn {

namespace {

struct RowFunction {
  std::string_view isa;  // empty: of every CPU
  std::int64_t lanes;
  void (*run)(const MaxRows& rows, std::int64_t piece, std::int64_t y);
};

// The widest that this CPU has and the channels fill.
RowFunction FunctionFor([[maybe_unused]] std::int64_t channels) {
#if defined(__x86_64__)
  const std::string_view widest = WidestVectorIsa();
  if (widest == "avx512" && channels >= 16) return {"avx512", 16, MaxRowAvx512};
  if (!widest.empty() && channels >= 8) return {"avx2", 8, MaxRowAvx2};
#endif
  return {"", 4, MaxRowOf<4>};
}

class MaxLoops : public BoundKernel {
 public:
  MaxLoops(const KernelRequest& request, const PoolOp& op, const Layout& layout,
           std::int64_t channels, const RowFunction& function)
      : BoundKernel(request, "channel loops", std::string(function.isa)),
        run_(function.run),
        pieces_(layout.PaddedElements(op.src_shape()) /
                (op.extents().h * op.extents().w * channels)) {
    const PoolExtents& e = op.extents();
    rows_ = {.h = e.h,
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
  }

  void Run() noexcept override {
    const std::int64_t all = pieces_ * rows_.oh;
#pragma omp parallel for if (all * rows_.ow * rows_.channels >= kMinParallelElements)
    for (std::int64_t row = 0; row < all; ++row) run_(rows_, row / rows_.oh, row % rows_.oh);
  }

 private:
  void (*run_)(const MaxRows& rows, std::int64_t piece, std::int64_t y);
  const std::int64_t pieces_;
  MaxRows rows_;
};

// The channels that are next to each other in a layout of images; 0: another layout.
std::int64_t AdjacentChannels(const Layout& layout, const Shape& shape) {
  if (layout == Layout::ChannelsLast(4)) return shape[1];
  if (layout.tag() == "aBcd16b") return 16;
  return layout.tag() == "aBcd8b" ? 8 : 0;
}

}  // namespace

KernelOrRefusal MakeMaxLoops(const KernelRequest& request) {
  const auto& op = dynamic_cast<const PoolOp&>(*request.op);
  if (request.execution.pass != Pass::kForward || op.algorithm() != PoolAlgorithm::kMax ||
      request.execution.type != DataType::kF32) {
    return Refusal{"the channel loops compute the forward pass of a maximum in f32"};
  }
  if (std::string why = RecomputingRefusal(request, "the channel loops"); !why.empty()) {
    return Refusal{std::move(why)};
  }
  if (op.extents().r * op.extents().s > 255) {
    return Refusal{"the channel loops have windows of at most 255 elements"};
  }
  const std::optional<Layout> common = CommonLayout(request);
  const Layout winners = request.LayoutOf(Arg::kWorkspace);
  if (!common || !(winners.is_any() || winners == *common)) {
    return Refusal{"the channel loops need one layout for all tensors"};
  }
  const Layout layout = common->is_any() ? Layout::ChannelsLast(4) : *common;
  const std::int64_t channels = AdjacentChannels(layout, op.src_shape());
  const RowFunction function = FunctionFor(channels);
  if (channels < function.lanes) {
    return Refusal{
        fmt::format("the channel loops need four channels next to each other, and {} "
                    "of {} channels has fewer",
                    layout.tag(), op.extents().c)};
  }
  return std::make_unique<MaxLoops>(request, op, layout, channels, function);
}

}  // namespace topdnn
