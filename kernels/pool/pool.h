// 2-D pooling, maximum or average: extents, operands and work.

#ifndef TOPDNN_KERNELS_POOL_POOL_H_
#define TOPDNN_KERNELS_POOL_POOL_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/op/op.h"

namespace topdnn {

enum class PoolAlgorithm {
  kMax,
  kAverage,           // over image elements only
  kAverageOfPadding,  // padding counted as zeros
};

// "max", "average", "average_of_padding".
std::string_view NameOf(PoolAlgorithm algorithm);

struct PoolExtents {
  std::int64_t n = 1, c = 1, h = 1, w = 1;  // src (N, C, H, W)
  std::int64_t r = 1, s = 1;                // window (R, S), dense
  std::int64_t stride_h = 1, stride_w = 1;
  std::int64_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  // Whether dst includes a last window that starts in the image (or its leading padding) but ends
  // beyond the trailing padding. This is Caffe's rule and an option in PyTorch and ONNX. Elements
  // beyond the padding are not part of an average.
  bool ceil_mode = false;

  // Extents of dst (N, C, OH, OW).
  std::int64_t oh() const;
  std::int64_t ow() const;

  // A window as large as the image; dst is (N, C, 1, 1).
  static PoolExtents Global(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) {
    return {.n = n, .c = c, .h = h, .w = w, .r = h, .s = w};
  }

  bool operator==(const PoolExtents&) const = default;
};

// Operands: forward src -> dst, and for a maximum in training also workspace; backward_data
// diff_dst, [workspace] -> diff_src. The workspace records which element of its window won, as r *
// S + s; its type and layout are the kernel's own. A kernel that recomputes has no workspace:
// backward_data src, diff_dst -> diff_src finds the maxima again. Of equal elements the first in
// row-major order wins. A NaN is larger than every number (in the reference; oneDNN's vector code
// may ignore it, and so does TensorFlow's way on `eigen`).
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
  // No multiply-accumulates. Forward: one comparison (a MAX instruction, which FLOP counters count)
  // or one addition per element of every window, and one division per average. Backward: for a
  // maximum, one addition per output, and when it recomputes also forward's comparisons; for an
  // average, one addition per element of every window and one division per output. FLOPs without
  // padding count only elements inside the image.
  Arithmetic ArithmeticOf(const Execution& execution) const override;
  PlannerTraits Traits() const override {
    const bool is_max = algorithm_ == PoolAlgorithm::kMax;
    return {.source_use = is_max ? SourceUse::kMaximum : SourceUse::kOther};
  }
  // Forward: the window. Backward: how many windows cover one element.
  std::int64_t AccumulationLength(Pass pass) const override;

  Shape src_shape() const { return {extents_.n, extents_.c, extents_.h, extents_.w}; }
  Shape dst_shape() const { return {extents_.n, extents_.c, extents_.oh(), extents_.ow()}; }

 private:
  PoolAlgorithm algorithm_;
  PoolExtents extents_;
  std::int64_t unread_ = 0;  // elements of src outside all windows
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_POOL_POOL_H_
