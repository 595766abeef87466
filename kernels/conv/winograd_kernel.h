// The base of the Winograd kernels: where images and weights are in memory, and how large a block
// of tiles may be.

#ifndef TOPDNN_KERNELS_CONV_WINOGRAD_KERNEL_H_
#define TOPDNN_KERNELS_CONV_WINOGRAD_KERNEL_H_

#include <cstdint>
#include <map>
#include <vector>

#include "kernels/conv/winograd_steps.h"
#include "kernels/kernel/bound_kernel.h"
#include "kernels/simd/vector_isa.h"

namespace topdnn {

// The settled layouts, and the vectors of channels in them.
struct WinogradLayouts {
  Layout images, weights;
  VectorLanes vectors;
};

class WinogradKernel : public BoundKernel {
 public:
  void Prepare(const std::map<Arg, void*>& memory) override;

 protected:
  WinogradKernel(const KernelRequest& request, const WinogradLayouts& layouts);

  // The distance between planes of at least `floats`: a multiple of the cache's lines, but of no
  // large power of two, so that the planes of one tile are in different sets of the L1 cache.
  static std::int64_t PlaneOf(std::int64_t floats);
  // As many tiles as have planes of `floats` for each tile in half of the L2 cache.
  static std::int64_t TilesInL2(std::int64_t floats);

  // Outputs are the channels of the result; in backward_weights they are those of diff_dst.
  std::int64_t vectors() const { return outputs_.size() / static_cast<std::size_t>(lanes_); }
  std::int64_t tiles() const { return tiles_; }

  const WinogradSteps steps_;
  const int threads_;
  const std::int64_t lanes_;
  WinogradProblem problem_;
  WinogradWeights weights_;

 private:
  void FindWeights(const Shape& shape, const Layout& layout);

  std::vector<std::int64_t> outputs_, inputs_;  // positions of the weights
  std::int64_t tiles_ = 0;
};

inline std::int64_t CeilDiv(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_CONV_WINOGRAD_KERNEL_H_
