// Pooling over one to three spatial dimensions in inference, also with dilated windows and by a
// norm. kernels/pool/ has the 2-D pooling with its fast kernels and its gradients.

#ifndef TOPDNN_KERNELS_POOL_ND_POOL_ND_H_
#define TOPDNN_KERNELS_POOL_ND_POOL_ND_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/op/op.h"
#include "kernels/op/spatial_axis.h"

namespace topdnn {

enum class PoolNdAlgorithm {
  kMax,
  kAverage,           // over image elements only
  kAverageOfPadding,  // padding counted as zeros
  kLp,                // (sum of |x|^p)^(1/p)
};

// "max", "average", "average_of_padding", "lp".
std::string_view NameOf(PoolNdAlgorithm algorithm);

struct PoolNdExtents {
  std::int64_t n = 1, c = 1;
  std::vector<SpatialAxis> axes = {};  // one to three, the outermost first
  bool ceil_mode = false;              // as in PoolExtents
  std::int64_t p = 2;                  // of kLp

  bool operator==(const PoolNdExtents&) const = default;
};

// Number of windows along an axis.
std::int64_t PooledExtent(const SpatialAxis& axis, bool ceil_mode);

// The taps of one window along an axis: [first, end) read the image. Those before `padded` read the
// image or the padding; the others are beyond it and are not part of an average.
struct PooledTaps {
  std::int64_t first, end, padded;
};

PooledTaps TapsAt(const SpatialAxis& axis, std::int64_t output);

// Operands: src (N, C, ...) -> dst (N, C, ...), forward alone. A NaN is larger than every number
// (oneDNN's vector code may ignore it).
class PoolNdOp : public Op {
 public:
  // Throws std::invalid_argument, in one line, for an impossible geometry, and for one with a
  // window that reads no element of the image.
  PoolNdOp(PoolNdAlgorithm algorithm, PoolNdExtents extents);

  PoolNdAlgorithm algorithm() const { return algorithm_; }
  const PoolNdExtents& extents() const { return extents_; }

  std::string_view kind() const override { return "pool_nd"; }
  // "max1x3x8x8", followed by the axes (kernels/op/spatial_axis.h), "_p2" and "_ceil".
  std::string Problem() const override;
  std::vector<Operand> Operands(const Execution& execution) const override;
  // One operation per element of every window (two for a norm, which takes powers), and one per
  // output for the division or the root. A maximum has neither.
  Arithmetic ArithmeticOf(const Execution& execution) const override;
  std::int64_t AccumulationLength(Pass pass) const override;

  Shape src_shape() const;
  Shape dst_shape() const;

 private:
  PoolNdAlgorithm algorithm_;
  PoolNdExtents extents_;
  std::int64_t unread_ = 0;  // elements of src outside all windows
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_POOL_ND_POOL_ND_H_
