#include "kernels/batchnorm/channel_loops.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/batchnorm/batchnorm.h"
#include "kernels/batchnorm/channel_rows.h"
#include "kernels/kernel/adjacent_channels.h"
#include "kernels/kernel/bound_kernel.h"
#include "kernels/kernel/omp_loops.h"
#include "kernels/simd/vector_isa.h"

namespace topdnn {

namespace {

// A result of as many bytes is written past the caches, which saves reading its lines first. (In
// place, the lines are in the caches.)
constexpr std::int64_t kStreamedBytes = 1 << 21;

// Rows that are summed in f32. The sums of the chunks are added in f64.
constexpr std::int64_t kRowsOfChunk = 256;

struct IsaFunctions {
  std::string_view isa;  // empty: of every CPU
  ChannelRowFunctions functions;
};

ChannelRowFunctions FunctionsOf([[maybe_unused]] std::int64_t lanes, bool masked) {
#if defined(__x86_64__)
  if (lanes == 16) return ChannelRowFunctionsAvx512(masked);
  if (lanes == 8) return ChannelRowFunctionsAvx2(masked);
#endif
  return ChannelRowFunctionsOf<4>(masked);
}

// The widest that this CPU has and whose vectors the channels fill; of 4 lanes if they fill none.
IsaFunctions FunctionsForChannels(std::int64_t channels, bool masked) {
  const VectorLanes vectors =
      WidestVectors([channels](std::int64_t lanes) { return channels % lanes == 0; });
  return {vectors.isa, FunctionsOf(vectors.lanes, masked)};
}

// A piece of an image is (H * W, channels), with the channels next to each other: all of them, or a
// block. The work is divided into chunks of rows of a piece. Chunks of the same channels follow
// each other.
class BatchNormChannelLoops : public BoundKernel {
 public:
  BatchNormChannelLoops(const KernelRequest& request, const BatchNormOp& op, const Layout& layout,
                        std::int64_t channels, const IsaFunctions& isa)
      : BoundKernel(request, "channel loops", std::string(isa.isa)),
        functions_(isa.functions),
        relu_(op.relu()),
        bound_(op.relu_bound()),
        epsilon_(op.epsilon()),
        threads_(request.threads),
        channels_(op.channels()),
        image_(op.image()),
        count_(static_cast<double>(op.batch() * op.image())),
        adjacent_(channels),
        elements_(layout.PaddedElements(op.shape())),
        blocks_(elements_ / (op.batch() * op.image() * channels)),
        chunks_of_piece_((op.image() + kRowsOfChunk - 1) / kRowsOfChunk),
        chunks_of_block_(op.batch() * chunks_of_piece_),
        by_block_(blocks_ >= kBlocksOfThread * request.threads || blocks_ % request.threads == 0) {
    for (KernelOperand& operand : operands_) {
      if (operand.desc.shape == op.shape()) operand.desc.layout = layout;
    }
    ReserveRunScratch(padded() * (kCoefficients + threads_ * kFloatsOfThread));
  }

  void Prepare(const std::map<Arg, void*>& memory) override {
    BoundKernel::Prepare(memory);
    const float* overwritten = Data(backward() ? Arg::kDiffDst : Arg::kSrc);
    const bool aligned =
        reinterpret_cast<std::uintptr_t>(result()) % (functions_.lanes * sizeof(float)) == 0;
    const auto bytes = elements_ * static_cast<std::int64_t>(sizeof(float));
    streams_ = aligned && result() != overwritten && bytes >= kStreamedBytes;
  }

  void Run() noexcept override {
    const bool sums = training() || backward();
    const std::int64_t chunks = blocks_ * chunks_of_block_;
#pragma omp parallel if (elements_ >= kMinParallelElements)
    {
      const std::int64_t team = std::min<std::int64_t>(threads_, omp_get_num_threads());
      const std::int64_t thread = std::min<std::int64_t>(omp_get_thread_num(), team);
      const auto share_of = [team](std::int64_t all, std::int64_t one) { return all * one / team; };
      const std::int64_t past = thread < team ? thread + 1 : team;
      if (by_block_) {
        for (std::int64_t block = share_of(blocks_, thread); block < share_of(blocks_, past);
             ++block) {
          const std::int64_t first = block * chunks_of_block_;
          if (sums) AddChunks(first, first + chunks_of_block_, thread);
          SetChannels(block * adjacent_, (block + 1) * adjacent_, thread);
          WriteChunks(first, first + chunks_of_block_);
        }
      } else {
        const std::int64_t first = share_of(chunks, thread), end = share_of(chunks, past);
        if (sums && thread < team) AddChunks(first, end, thread);
#pragma omp barrier
        const std::int64_t channel = share_of(padded(), thread);
        const std::int64_t end_channel = share_of(padded(), past);
        if (sums) AddThreads(team, channel, end_channel);
        SetChannels(channel, end_channel, 0);
#pragma omp barrier
        WriteChunks(first, end);
      }
    }
  }

 private:
  // Arrays of padded() floats: factor, shift, slope, and the mean.
  static constexpr std::int64_t kCoefficients = 4;
  // Two arrays of doubles and three of floats; one more keeps the doubles aligned.
  static constexpr std::int64_t kFloatsOfThread = 8;
  // With as many blocks for each thread, a block more or less hardly matters.
  static constexpr std::int64_t kBlocksOfThread = 4;

  float* result() const { return Data(backward() ? Arg::kDiffSrc : Arg::kDst); }
  bool backward() const { return pass() == Pass::kBackwardData; }
  std::int64_t padded() const { return blocks_ * adjacent_; }

  float* Coefficient(int which) const { return Scratch() + which * padded(); }
  float* Factor() const { return Coefficient(0); }
  float* Shift() const { return Coefficient(1); }
  float* Slope() const { return Coefficient(2); }
  float* Center() const { return Coefficient(3); }
  double* SumsOf(std::int64_t thread) const {
    return reinterpret_cast<double*>(Scratch() +
                                     padded() * (kCoefficients + thread * kFloatsOfThread));
  }
  double* ProductsOf(std::int64_t thread) const { return SumsOf(thread) + padded(); }
  float* ChunkSumsOf(std::int64_t thread) const {
    return reinterpret_cast<float*>(ProductsOf(thread) + padded());
  }

  struct Chunk {
    ChannelRows rows;
    std::int64_t channel;  // the first one
  };

  Chunk ChunkAt(std::int64_t chunk) const {
    const std::int64_t block = chunk / chunks_of_block_;
    const std::int64_t image = chunk % chunks_of_block_ / chunks_of_piece_;
    const std::int64_t row = chunk % chunks_of_piece_ * kRowsOfChunk;
    const std::int64_t channel = block * adjacent_;
    const std::int64_t at = ((image * blocks_ + block) * image_ + row) * adjacent_;
    ChannelRows rows{.rows = std::min(kRowsOfChunk, image_ - row),
                     .channels = adjacent_,
                     .src = Data(Arg::kSrc) + at,
                     .center = Center() + channel,
                     .factor = Factor() + channel,
                     .shift = Shift() + channel,
                     .slope = Slope() + channel,
                     .bound = bound_};
    rows.result = result() + at;
    rows.streams = streams_;
    if (backward()) rows.diff_dst = Data(Arg::kDiffDst) + at;
    if (auto* passed = Data<std::uint8_t>(Arg::kWorkspace)) rows.passed = passed + at;
    return {rows, channel};
  }

  // Sums of (padded channels): of the gradient or of src, and of its products with the differences
  // from the mean or of its squares.
  struct Sums {
    double* sums;
    double* products;
  };

  // Sets the sums of a thread to those of the chunks.
  void AddChunks(std::int64_t first, std::int64_t end, std::int64_t thread) const {
    float* const of_chunk = ChunkSumsOf(thread);
    float* const center = of_chunk + 2 * adjacent_;
    if (!by_block_) std::fill_n(SumsOf(thread), 2 * padded(), 0.0);
    std::int64_t added = 0;  // rows of these channels
    for (std::int64_t chunk = first; chunk < end; ++chunk) {
      auto [rows, channel] = ChunkAt(chunk);
      rows.sums = of_chunk;
      rows.products = of_chunk + adjacent_;
      rows.center = center;
      const Sums all = {SumsOf(thread) + channel, ProductsOf(thread) + channel};
      if (chunk == first || chunk % chunks_of_block_ == 0) {
        added = 0;
        std::fill_n(all.sums, adjacent_, 0.0);
        std::fill_n(all.products, adjacent_, 0.0);
        std::fill_n(center, adjacent_, 0.0F);
        if (backward()) {
          std::copy_n(Data(Arg::kMean) + channel, std::min(adjacent_, channels_ - channel), center);
        }
      }
      if (backward()) {
        AddGradients(rows, all);
      } else {
        CenterOn(rows, added, all.sums, center);
        AddSquares(rows, all);
      }
      added += rows.rows;
    }
  }

  void AddGradients(const ChannelRows& rows, const Sums& all) const {
    std::fill_n(rows.sums, 2 * adjacent_, 0.0F);
    functions_.add_gradients(rows);
    for (std::int64_t c = 0; c < adjacent_; ++c) {
      all.sums[c] += static_cast<double>(rows.sums[c]);
      all.products[c] += static_cast<double>(rows.products[c]);
    }
  }

  void AddSquares(const ChannelRows& rows, const Sums& all) const {
    std::fill_n(rows.sums, 2 * adjacent_, 0.0F);
    functions_.add_squares(rows);
    const auto count = static_cast<double>(rows.rows);
    for (std::int64_t c = 0; c < adjacent_; ++c) {
      const auto center = static_cast<double>(rows.center[c]);
      const auto sum = static_cast<double>(rows.sums[c]);
      all.sums[c] += sum + count * center;
      all.products[c] +=
          static_cast<double>(rows.products[c]) + center * (2 * sum + count * center);
    }
  }

  // Sets `center`, 0 at first, to the mean of the rows before, or of the first chunk. Squares of
  // differences from it keep their digits in f32, whatever the mean.
  void CenterOn(const ChannelRows& rows, std::int64_t added, const double* all_sums,
                float* center) const {
    if (added > 0) {
      for (std::int64_t c = 0; c < adjacent_; ++c) {
        center[c] = static_cast<float>(all_sums[c] / static_cast<double>(added));
      }
      return;
    }
    std::fill_n(rows.sums, 2 * adjacent_, 0.0F);
    functions_.add_squares(rows);
    for (std::int64_t c = 0; c < adjacent_; ++c) {
      center[c] = rows.sums[c] / static_cast<float>(rows.rows);
    }
  }

  // Adds the sums of the other threads to those of the first, for some channels.
  void AddThreads(std::int64_t team, std::int64_t first, std::int64_t end) const {
    for (std::int64_t thread = 1; thread < team; ++thread) {
      for (std::int64_t c = first; c < end; ++c) {
        SumsOf(0)[c] += SumsOf(thread)[c];
        ProductsOf(0)[c] += ProductsOf(thread)[c];
      }
    }
  }

  float InverseDeviation(std::int64_t c) const {
    return 1.0F / std::sqrt(Data(Arg::kVariance)[c] + epsilon_);
  }

  // Sets what depends on the sums of a thread: statistics or gradients, and the coefficients. In
  // the padding of a last block the coefficients are 0, so the result is 0.
  void SetChannels(std::int64_t first, std::int64_t end, std::int64_t thread) const {
    for (std::int64_t c = first; c < end; ++c) {
      if (c >= channels_) {
        Factor()[c] = Shift()[c] = Slope()[c] = Center()[c] = 0;
        continue;
      }
      const double sum = SumsOf(thread)[c];
      const double products = ProductsOf(thread)[c];
      if (!backward() && training()) {
        const double mean = sum / count_;
        const double variance = products / count_ - mean * mean;
        Data(Arg::kMean)[c] = static_cast<float>(mean);
        // (Rounding may give a variance below 0. A NaN stays.)
        Data(Arg::kVariance)[c] = static_cast<float>(variance < 0 ? 0 : variance);
      }
      const float inverse = InverseDeviation(c);
      Center()[c] = Data(Arg::kMean)[c];
      Factor()[c] = Data(Arg::kScale)[c] * inverse;
      if (!backward()) {
        Shift()[c] = Data(Arg::kShift)[c];
        continue;
      }
      Data(Arg::kDiffShift)[c] = static_cast<float>(sum);
      Data(Arg::kDiffScale)[c] = static_cast<float>(products * static_cast<double>(inverse));
      Shift()[c] = static_cast<float>(sum / count_);
      Slope()[c] = static_cast<float>(products / count_) * inverse * inverse;
    }
  }

  // From the last one, which may still be in the caches.
  void WriteChunks(std::int64_t first, std::int64_t end) const {
    for (std::int64_t chunk = end - 1; chunk >= first; --chunk) {
      const ChannelRows rows = ChunkAt(chunk).rows;
      if (backward()) {
        functions_.gradient(rows);
      } else {
        relu_ ? functions_.normalize_relu(rows) : functions_.normalize(rows);
      }
    }
  }

  const ChannelRowFunctions functions_;
  const bool relu_;
  const float bound_, epsilon_;
  const int threads_;
  const std::int64_t channels_, image_;
  const double count_;  // elements of a channel
  const std::int64_t adjacent_, elements_, blocks_, chunks_of_piece_, chunks_of_block_;
  bool streams_ = false;
  const bool by_block_;  // whether each thread computes its own blocks
};

}  // namespace

KernelOrRefusal MakeBatchNormChannelLoops(const KernelRequest& request) {
  const auto& op = request.OpAs<BatchNormOp>();
  if (request.execution.type != DataType::kF32) {
    return Refusal{"the channel loops of batch normalization compute in f32"};
  }
  std::optional<Layout> common;
  for (const Operand& operand : op.Operands(request.execution)) {
    const Layout layout = request.LayoutOf(operand.arg);
    if (operand.shape != op.shape() || layout.is_any()) continue;
    if (common && !(*common == layout)) {
      return Refusal{"the channel loops need one layout for all images"};
    }
    common = layout;
  }
  const Layout layout = common.value_or(Layout::ChannelsLast(op.shape().rank()));
  const std::int64_t channels = AdjacentChannels(layout, op.shape());
  const IsaFunctions isa = FunctionsForChannels(channels, op.relu());
  if (channels == 0 || channels % isa.functions.lanes != 0) {
    return Refusal{fmt::format(
        "the channel loops need multiples of four channels next to each other, not {} channels "
        "in {}",
        op.channels(), layout.tag())};
  }
  return std::make_unique<BatchNormChannelLoops>(request, op, layout, channels, isa);
}

}  // namespace topdnn
