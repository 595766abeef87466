#include "kernels/conv/winograd_gradient.h"

#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <memory>

namespace topdnn {

namespace {

// Multiplies the points of the source by those of diff_dst, and adds the products of all tiles. The
// threads form teams: a team has some of the tiles and its own sums, and its members divide the
// outputs. There is one team if the pieces of outputs can be divided equally.
class WinogradGradient : public WinogradKernel {
 public:
  WinogradGradient(const KernelRequest& request, const WinogradLayouts& layouts)
      : WinogradKernel(request, layouts), pieces_(CeilDiv(vectors(), kMostVectors)) {
    for (members_ = threads_; threads_ % members_ != 0 || pieces_ % members_ != 0;) --members_;
    const std::int64_t width = kMostVectors * lanes_;
    const std::int64_t tiles_of_team = CeilDiv(tiles(), threads_ / members_);
    // For each block, the sums are read and written: for fewer tiles than this, that would take
    // longer than to multiply.
    constexpr std::int64_t kFewTiles = 28;
    const std::int64_t most = std::max(kFewTiles, TilesInL2(problem_.inputs + width));
    blocks_ = CeilDiv(tiles_of_team, most);
    const std::int64_t most_tiles = CeilDiv(tiles_of_team, blocks_);
    source_plane_ = PlaneOf(most_tiles * problem_.inputs);
    gradient_plane_ = PlaneOf(most_tiles * width);
    sums_plane_ = PlaneOf(problem_.inputs * width);
    own_ = kTilePoints * (source_plane_ + gradient_plane_);
    sums_ = kTilePoints * sums_plane_ + width;  // (the last ones are those of the bias)
    ReserveRunScratch(own_ * threads_ + sums_ * pieces_ * (threads_ / members_));
  }

  void Run() noexcept override {
    const std::int64_t teams = threads_ / members_;
#pragma omp parallel
    {
      // (OpenMP may give fewer threads than asked)
      for (std::int64_t t = omp_get_thread_num(); t < threads_; t += omp_get_num_threads()) {
        AddTiles(t, t / members_, t % members_);
      }
#pragma omp barrier
      // (with fewer pieces than threads, most would wait for those that add)
      constexpr std::int64_t kPart = 1024;
      const std::int64_t added = pieces_ < threads_ ? teams : 1;
#pragma omp for schedule(static)
      for (std::int64_t at = 0; at < (added > 1 ? sums_ * pieces_ : 0); at += kPart) {
        AddTeams(at, std::min(at + kPart, sums_ * pieces_), added);
      }
#pragma omp for schedule(static)
      for (std::int64_t piece = 0; piece < pieces_; ++piece) {
        WinogradBlock block = BlockOf(0, 0, piece);
        block.copies = teams / added;
        block.copy = sums_ * pieces_;
        steps_.transform_weights_gradient(problem_, weights_, block);
        AddBias(block);
      }
    }
  }

 private:
  // A piece without tiles, with the memory of a thread and a team.
  WinogradBlock BlockOf(std::int64_t thread, std::int64_t team, std::int64_t piece) const {
    float* own = Scratch() + own_ * thread;
    float* sums = Scratch() + own_ * threads_ + sums_ * (team * pieces_ + piece);
    WinogradBlock block;
    block.first_vector = piece * kMostVectors;
    block.vectors = std::min<std::int64_t>(kMostVectors, vectors() - block.first_vector);
    block.sources = own;
    block.source_plane = source_plane_;
    block.weights = own + kTilePoints * source_plane_;
    block.weights_plane = gradient_plane_;
    block.sums = sums;
    block.sums_plane = sums_plane_;
    block.bias_sums = sums + kTilePoints * sums_plane_;
    return block;
  }

  // Computes the sums of the member's outputs over the tiles of the team.
  void AddTiles(std::int64_t thread, std::int64_t team, std::int64_t member) const {
    const std::int64_t teams = threads_ / members_;
    const std::int64_t begin = tiles() * team / teams;
    const std::int64_t count = tiles() * (team + 1) / teams - begin;
    const std::int64_t first_piece = pieces_ * member / members_;
    const std::int64_t end_piece = pieces_ * (member + 1) / members_;
    for (std::int64_t piece = first_piece; piece < end_piece; ++piece) {
      std::fill_n(BlockOf(thread, team, piece).bias_sums, kMostVectors * lanes_, 0.0F);
    }
    for (std::int64_t at = 0; at < blocks_; ++at) {
      for (std::int64_t piece = first_piece; piece < end_piece; ++piece) {
        WinogradBlock block = BlockOf(thread, team, piece);
        block.first_tile = begin + count * at / blocks_;
        block.tiles = begin + count * (at + 1) / blocks_ - block.first_tile;
        if (piece == first_piece) steps_.transform_sources(problem_, block);
        steps_.transform_gradients(problem_, block);
        steps_.multiply_gradients(problem_, block, at > 0);
      }
    }
  }

  // Adds the sums of the other teams to those of the first.
  void AddTeams(std::int64_t first, std::int64_t end, std::int64_t teams) const {
    float* sums = Scratch() + own_ * threads_;
    for (std::int64_t team = 1; team < teams; ++team) {
      const float* other = sums + team * sums_ * pieces_;
#pragma omp simd
      for (std::int64_t at = first; at < end; ++at) sums[at] += other[at];
    }
  }

  // Adds the sums of all copies.
  void AddBias(const WinogradBlock& block) const {
    float* bias = Data(Arg::kDiffBias);
    if (bias == nullptr) return;
    for (std::int64_t lane = 0; lane < block.vectors * lanes_; ++lane) {
      float sum = 0;
      for (std::int64_t copy = 0; copy < block.copies; ++copy) {
        sum += block.bias_sums[copy * block.copy + lane];
      }
      bias[block.first_vector * lanes_ + lane] = sum;
    }
  }

  const std::int64_t pieces_;  // of outputs: kMostVectors vectors each
  std::int64_t members_ = 1;   // of a team
  std::int64_t blocks_ = 1;    // of the tiles of a team
  std::int64_t source_plane_ = 0, gradient_plane_ = 0, sums_plane_ = 0;
  std::int64_t own_ = 0;   // floats of a thread
  std::int64_t sums_ = 0;  // floats of the sums of a piece
};

}  // namespace

std::unique_ptr<Kernel> MakeWinogradGradient(const KernelRequest& request,
                                             const WinogradLayouts& layouts) {
  return std::make_unique<WinogradGradient>(request, layouts);
}

}  // namespace topdnn
