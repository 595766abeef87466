// 2-D pooling, maximum or average: extents, operands and work.

#ifndef TOPDNN_KERNELS_POOL_POOL_H_
#define TOPDNN_KERNELS_POOL_POOL_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/op.h"

namespace topdnn {

enum class PoolAlgorithm {
  kMax,
  kAverage,           // over the image's elements alone
  kAverageOfPadding,  // padding counted as zeros
};

// "max", "average", "average_of_padding".
std::string_view NameOf(PoolAlgorithm algorithm);

struct PoolExtents {
  std::int64_t n = 1, c = 1, h = 1, w = 1;  // src (N, C, H, W)
  std::int64_t r = 1, s = 1;                // window (R, S), dense
  std::int64_t stride_h = 1, stride_w = 1;
  std::int64_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  // Whether a last window that starts in the image (or its leading padding) but ends beyond the
  // trailing padding counts (Caffe's and, as an option, PyTorch's and ONNX's rule). What lies
  // beyond the padding belongs to no average.
  bool ceil_mode = false;

  // Extents of dst (N, C, OH, OW).
  std::int64_t oh() const;
  std::int64_t ow() const;

  // A window as large as the image: dst is (N, C, 1, 1).
  static PoolExtents Global(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) {
    return {.n = n, .c = c, .h = h, .w = w, .r = h, .s = w};
  }

  bool operator==(const PoolExtents&) const = default;
};

// The part of one axis that a window covers.
struct PoolWindow {
  std::int64_t first, end;  // elements of the image
  std::int64_t padded;      // how many elements, those of the padding included
};

// The window of output `o` along an axis.
PoolWindow WindowOf(std::int64_t o, std::int64_t input, std::int64_t kernel, std::int64_t stride,
                    std::int64_t pad_before, std::int64_t pad_after);

// Operands: forward src -> dst, and in training a maximum's workspace; backward_data diff_dst,
// [workspace] -> diff_src. The workspace says which element of its window won, as r * S + s; its
// type and layout are the kernel's own. Of equal elements the first in row-major order wins, and a
// NaN is larger than everything (in the reference; oneDNN's vector code may pass over it).
class PoolOp : public Op {
 public:
  // Throws std::invalid_argument, in one line, for an impossible geometry.
  PoolOp(PoolAlgorithm algorithm, const PoolExtents& extents);

  PoolAlgorithm algorithm() const { return algorithm_; }
  const PoolExtents& extents() const { return extents_; }

  std::string_view kind() const override { return "pool"; }
  // "maxn8c64h112w112r3s3u2v2p1q1"
  std::string Problem() const override;
  std::vector<Operand> Operands(const Execution& execution) const override;
  // No multiply-accumulates. Forward: one comparison (a MAX instruction, which counters count as a
  // FLOP) or addition per element of every window, and a division per average. Backward: one
  // addition per output for a maximum; one addition per element of every window and one division
  // per output for an average. Without padding: only elements inside the image.
  Work WorkOf(Pass pass, DataType type) const override;
  Work WorkIn(const Execution& execution) const override;
  // Forward: the window. Backward: how many windows cover one element.
  std::int64_t AccumulationLength(Pass pass) const override;

  Shape src_shape() const { return {extents_.n, extents_.c, extents_.h, extents_.w}; }
  Shape dst_shape() const { return {extents_.n, extents_.c, extents_.oh(), extents_.ow()}; }

 private:
  PoolAlgorithm algorithm_;
  PoolExtents extents_;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_POOL_POOL_H_
