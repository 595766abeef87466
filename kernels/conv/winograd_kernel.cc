#include "kernels/conv/winograd_kernel.h"

#include <unistd.h>

#include <map>
#include <string>
#include <utility>

#include "kernels/conv/conv.h"
#include "kernels/kernel/adjacent_channels.h"
#include "kernels/tensor/addressing.h"

namespace topdnn {

namespace {

std::int64_t BytesOfL2() {
  constexpr std::int64_t kAssumed = std::int64_t{1} << 20;
#ifdef _SC_LEVEL2_CACHE_SIZE
  const std::int64_t bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  if (bytes > 0) return bytes;
#endif
  return kAssumed;
}

// An image operand in `layout`, for vectors of `lanes` channels.
TileImages ImagesOf(const Shape& shape, const Layout& layout, std::int64_t lanes) {
  const std::int64_t adjacent = AdjacentChannels(layout, shape);
  const std::int64_t pixels = shape[2] * shape[3];
  return {.h = shape[2],
          .w = shape[3],
          .pixel = adjacent,
          .vector = adjacent == lanes ? pixels * lanes : lanes,
          .image = pixels * shape[1]};
}

WinogradSteps StepsOf([[maybe_unused]] std::int64_t lanes, int window) {
#if defined(__x86_64__)
  if (lanes == 16) return WinogradStepsAvx512(window);
  if (lanes == 8) return WinogradStepsAvx2(window);
#endif
  return WinogradStepsOf<4>(window);
}

}  // namespace

WinogradKernel::WinogradKernel(const KernelRequest& request, const WinogradLayouts& layouts)
    : BoundKernel(request, "winograd:tiles", std::string(layouts.vectors.isa)),
      steps_(StepsOf(layouts.vectors.lanes, static_cast<int>(request.OpAs<ConvOp>().extents().r))),
      threads_(request.threads),
      lanes_(layouts.vectors.lanes) {
  const auto& op = request.OpAs<ConvOp>();
  const ConvExtents& e = op.extents();
  for (KernelOperand& operand : operands_) {
    if (IsActivation(operand.arg)) {
      operand.desc.layout = layouts.images;
    } else if (IsWeights(operand.arg)) {
      operand.desc.layout = layouts.weights;
    }
  }
  const bool reverse = pass() == Pass::kBackwardData;
  problem_.src = ImagesOf(op.src_shape(), layouts.images, lanes_);
  problem_.dst = ImagesOf(op.dst_shape(), layouts.images, lanes_);
  problem_.pad_top = e.pad_top;
  problem_.pad_left = e.pad_left;
  problem_.inputs = e.c;
  if (reverse) {  // a correlation with the taps in reverse order
    std::swap(problem_.src, problem_.dst);
    problem_.pad_top = e.r - 1 - e.pad_top;
    problem_.pad_left = e.s - 1 - e.pad_left;
    problem_.inputs = e.k;
  }
  const std::int64_t side = TileSideFor(static_cast<int>(e.r));
  problem_.tile_rows = CeilDiv(problem_.dst.h, side);
  problem_.tile_columns = CeilDiv(problem_.dst.w, side);
  tiles_ = e.n * problem_.tile_rows * problem_.tile_columns;
  if (pass() == Pass::kForward) {
    const ConvEpilogue& epilogue = op.epilogue();
    problem_.epilogue = LaneEpilogueOf(epilogue.sum, epilogue.relu, epilogue.bound);
  }
  FindWeights(op.weights_shape(), layouts.weights);
}

void WinogradKernel::Prepare(const std::map<Arg, void*>& memory) {
  BoundKernel::Prepare(memory);
  problem_.src_data = Data(pass() == Pass::kBackwardData ? Arg::kDiffDst : Arg::kSrc);
  problem_.dst_data = Data(pass() == Pass::kBackwardData ? Arg::kDiffSrc : Arg::kDst);
  problem_.diff_dst_data = Data(Arg::kDiffDst);
  problem_.bias = Data(Arg::kBias);
  weights_.data = Data(Arg::kWeights);
  weights_.gradient = Data(Arg::kDiffWeights);
  weights_.outputs = outputs_.data();
  weights_.inputs = inputs_.data();
}

void WinogradKernel::FindWeights(const Shape& shape, const Layout& layout) {
  const bool reverse = pass() == Pass::kBackwardData;
  const std::vector<std::vector<std::int64_t>> offset = AddressingOf(layout.tag(), shape).offset_of;
  (reverse ? inputs_ : outputs_) = offset[0];
  (reverse ? outputs_ : inputs_) = offset[1];
  const std::int64_t taps = shape[2] * shape[3];
  for (std::int64_t tap = 0; tap < taps; ++tap) {
    const std::int64_t at = reverse ? taps - 1 - tap : tap;
    weights_.taps[tap] = offset[2][static_cast<std::size_t>(at / shape[3])] +
                         offset[3][static_cast<std::size_t>(at % shape[3])];
  }
}

std::int64_t WinogradKernel::PlaneOf(std::int64_t floats) {
  constexpr std::int64_t kLine = 16;
  const std::int64_t lines = CeilDiv(floats, kLine);
  return (lines + 1 - lines % 2) * kLine;
}

std::int64_t WinogradKernel::TilesInL2(std::int64_t floats) {
  return BytesOfL2() / 2 / (kTilePoints * floats * static_cast<std::int64_t>(sizeof(float)));
}

}  // namespace topdnn
