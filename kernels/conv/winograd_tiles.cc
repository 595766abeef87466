#include "kernels/conv/winograd_tiles.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <memory>

#include "kernels/conv/conv.h"
#include "kernels/conv/winograd_gradient.h"
#include "kernels/conv/winograd_kernel.h"
#include "kernels/kernel/adjacent_channels.h"
#include "kernels/kernel/fidelity.h"
#include "kernels/kernel/native.h"
#include "kernels/kernel/registry.h"
#include "kernels/kernel/variant.h"
#include "kernels/library/onednn.h"
#include "kernels/reorder/in_f32.h"

namespace topdnn {

namespace {

// Forward and backward_data. With more tiles than outputs the threads divide the tiles: all share
// the transformed weights, and each transforms the source of a block of tiles. Otherwise they
// divide the outputs: all share the transformed source, and each transforms the weights of its
// outputs. So the smaller one of the two is written to memory that the threads share, and the other
// one stays in the L2 cache of its thread.
class WinogradTiles : public WinogradKernel {
 public:
  WinogradTiles(const KernelRequest& request, const WinogradLayouts& layouts)
      : WinogradKernel(request, layouts), by_tiles_(tiles() > vectors() * lanes_) {
    const std::int64_t width = kMostVectors * lanes_;
    pieces_ = CeilDiv(vectors(), kMostVectors);
    if (by_tiles_) {
      // A thread reads all weights for each block: for fewer tiles than kFewTiles, that would take
      // longer than to multiply.
      constexpr std::int64_t kFewTiles = 28;
      const std::int64_t most = std::max(kFewTiles, TilesInL2(problem_.inputs + width));
      blocks_ = CeilDiv(tiles(), most * threads_) * threads_;
    } else {
      constexpr std::int64_t kManyTiles = 56;  // their sums are in the L2 cache
      blocks_ = CeilDiv(tiles(), kManyTiles);
    }
    const std::int64_t most_tiles = CeilDiv(tiles(), blocks_);
    weights_plane_ = PlaneOf(problem_.inputs * width);
    source_plane_ = PlaneOf((by_tiles_ ? most_tiles : tiles()) * problem_.inputs);
    sums_plane_ = PlaneOf(most_tiles * width);
    shared_ = kTilePoints * (by_tiles_ ? weights_plane_ * pieces_ : source_plane_);
    own_ = kTilePoints * (by_tiles_ ? source_plane_ : weights_plane_);
    ReserveRunScratch(shared_ + (own_ + kTilePoints * sums_plane_) * threads_);
  }

  void Run() noexcept override {
    if (by_tiles_) {
      RunByTiles();
    } else {
      RunByOutputs();
    }
  }

 private:
  // A block of tiles without outputs, with the memory of the calling thread.
  WinogradBlock BlockOf(std::int64_t block) const {
    float* own = Scratch() + shared_ + (own_ + kTilePoints * sums_plane_) * omp_get_thread_num();
    const std::int64_t first = tiles() * block / blocks_;
    return {.first_tile = first,
            .tiles = tiles() * (block + 1) / blocks_ - first,
            .sources = by_tiles_ ? own : Scratch() + first * problem_.inputs,
            .source_plane = source_plane_,
            .weights = own,
            .weights_plane = weights_plane_,
            .sums = own + own_,
            .sums_plane = sums_plane_};
  }

  // Sets the outputs of a piece.
  void SetPiece(std::int64_t piece, WinogradBlock& block) const {
    block.first_vector = piece * kMostVectors;
    block.vectors = std::min<std::int64_t>(kMostVectors, vectors() - block.first_vector);
    if (by_tiles_) block.weights = Scratch() + kTilePoints * weights_plane_ * piece;
  }

  void RunByTiles() const {
#pragma omp parallel
    {
#pragma omp for schedule(static)
      for (std::int64_t piece = 0; piece < pieces_; ++piece) {
        WinogradBlock block = BlockOf(0);
        SetPiece(piece, block);
        steps_.transform_weights(problem_, weights_, block);
      }
#pragma omp for schedule(static)
      for (std::int64_t at = 0; at < blocks_; ++at) {
        WinogradBlock block = BlockOf(at);
        steps_.transform_sources(problem_, block);
        for (std::int64_t piece = 0; piece < pieces_; ++piece) {
          SetPiece(piece, block);
          steps_.multiply(problem_, block);
          steps_.transform_sums(problem_, block);
        }
      }
    }
  }

  void RunByOutputs() const {
#pragma omp parallel
    {
#pragma omp for schedule(static)
      for (std::int64_t tile = 0; tile < tiles(); ++tile) {
        WinogradBlock block = BlockOf(0);
        block.sources += tile * problem_.inputs;
        block.first_tile = tile;
        block.tiles = 1;
        steps_.transform_sources(problem_, block);
      }
#pragma omp for schedule(static)
      for (std::int64_t piece = 0; piece < pieces_; ++piece) {
        for (std::int64_t at = 0; at < blocks_; ++at) {
          WinogradBlock block = BlockOf(at);
          SetPiece(piece, block);
          if (at == 0) steps_.transform_weights(problem_, weights_, block);
          steps_.multiply(problem_, block);
          steps_.transform_sums(problem_, block);
        }
      }
    }
  }

  const bool by_tiles_;
  std::int64_t pieces_ = 0;  // of outputs: kMostVectors vectors each
  std::int64_t blocks_ = 1;  // of tiles
  std::int64_t weights_plane_ = 0, source_plane_ = 0, sums_plane_ = 0;
  std::int64_t shared_ = 0;  // floats of scratch memory that the threads share
  std::int64_t own_ = 0;     // floats of a thread, besides its sums
};

// The layout of the images: the one that the request settles, or oneDNN's. `any`: it settles two.
Layout LayoutOfImages(const KernelRequest& request) {
  Layout images;
  for (const Operand& operand : request.op->Operands(request.execution)) {
    if (!IsActivation(operand.arg)) continue;
    const Layout asked = request.LayoutOf(operand.arg);
    if (asked.is_any()) continue;
    if (!images.is_any() && !(images == asked)) return Layout::Any();
    images = asked;
  }
  return images.is_any() ? onednn::BlockedActivations() : images;
}

// oneDNN's layout of weights for vectors of `lanes`.
Layout WeightsFor(std::int64_t lanes) {
  if (lanes < 8) return Layout::Plain(4);
  return *Layout::Parse(lanes == 16 ? "ABcd16b16a" : "ABcd8b8a");
}

// Refuses a request that does not name the algorithm: a plan uses it only after `auto` has measured
// it.
KernelOrRefusal MakeNativeConv(const KernelRequest& request) {
  if (request.algorithm != kWinogradTiles) {
    return Refusal{"native has convolutions by Winograd's algorithm alone: native-winograd"};
  }
  if (std::string why = FunctionRefusal("native computes", *request.op, request.execution.pass);
      !why.empty()) {
    return Refusal{std::move(why)};
  }
  return request.execution.type == DataType::kBF16 ? MakeInF32(request, kNative, kWinogradTiles)
                                                   : MakeWinogradTiles(request);
}

const KernelRegistration kNativeConv("conv", kNative, MakeNativeConv);
const FidelityDeclaration kNativeFidelity({"conv", kNative, Fidelity::kOurs,
                                           "Winograd's algorithm; Caffe has im2col and sgemm",
                                           "layers/base_conv_layer.cpp"});
const VariantRegistration kNativeWinograd({.name = "native-winograd",
                                           .backend = kNative,
                                           .algorithm = kWinogradTiles,
                                           .kinds = {"conv"},
                                           .types = {DataType::kF32, DataType::kBF16}});

}  // namespace

KernelOrRefusal MakeWinogradTiles(const KernelRequest& request) {
  const auto& op = request.OpAs<ConvOp>();
  const ConvExtents& e = op.extents();
  if (request.execution.type != DataType::kF32) {
    return Refusal{"the Winograd tiles compute in f32"};
  }
  if ((e.r != 3 && e.r != 5) || e.s != e.r || e.stride_h != 1 || e.stride_w != 1 ||
      e.dilation_h != 1 || e.dilation_w != 1 || e.groups != 1) {
    return Refusal{
        "the Winograd tiles need dense windows of 3x3 or 5x5 with strides of 1, in one "
        "group"};
  }
  const Layout images = LayoutOfImages(request);
  const std::int64_t adjacent = images.is_any() ? 0 : AdjacentChannels(images, op.src_shape());
  if (adjacent == 0) {
    return Refusal{"the Winograd tiles need one layout for all images, channels last or in blocks"};
  }
  const bool gradient = request.execution.pass == Pass::kBackwardWeights;
  Layout weights = request.LayoutOf(gradient ? Arg::kDiffWeights : Arg::kWeights);
  if (weights.is_opaque()) {
    return Refusal{"the Winograd tiles cannot address the opaque layout of another backend"};
  }
  const bool all = images == Layout::ChannelsLast(4);
  for (const VectorLanes& vectors : VectorsOfThisCpu()) {
    const std::int64_t lanes = vectors.lanes;
    const bool fits = all ? e.c % lanes == 0 && e.k % lanes == 0
                          : adjacent == lanes && e.c % adjacent == 0 && e.k % adjacent == 0;
    if (!fits) continue;
    if (weights.is_any()) weights = WeightsFor(lanes);
    const WinogradLayouts layouts = {images, weights, vectors};
    if (gradient) return MakeWinogradGradient(request, layouts);
    return std::make_unique<WinogradTiles>(request, layouts);
  }
  return Refusal{
      fmt::format("the Winograd tiles need channels that fill vectors, and {} and {} in "
                  "layout {} do not on this CPU",
                  e.c, e.k, images.tag())};
}

}  // namespace topdnn
