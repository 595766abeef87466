// Convolution (cross-correlation) over one to three spatial dimensions, without bias: video and
// volumes. kernels/conv/ has the 2-D convolution with its fast kernels.

#ifndef TOPDNN_KERNELS_CONV_ND_CONV_ND_H_
#define TOPDNN_KERNELS_CONV_ND_CONV_ND_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/conv/conv.h"
#include "kernels/op/op.h"
#include "kernels/op/spatial_axis.h"

namespace topdnn {

struct ConvNdExtents {
  std::int64_t n = 1, c = 1, k = 1, groups = 1;
  std::vector<SpatialAxis> axes = {};  // one to three, the outermost first

  bool operator==(const ConvNdExtents&) const = default;
};

// The same convolution as one of images. `e` must have two axes.
ConvExtents ImageExtents(const ConvNdExtents& e);

// Operands: forward src (N, C, ...), weights (K, C/G, kernel...) -> dst (N, K, ...); backward_data
// diff_dst, weights -> diff_src; backward_weights src, diff_dst -> diff_weights.
class ConvNdOp : public Op {
 public:
  // Throws std::invalid_argument, in one line, for an impossible geometry.
  explicit ConvNdOp(ConvNdExtents extents);

  const ConvNdExtents& extents() const { return extents_; }

  std::string_view kind() const override { return "conv_nd"; }
  // "1x3x8x8x8_to4_groups1", followed by the axes (kernels/op/spatial_axis.h).
  std::string Problem() const override;
  std::vector<Operand> Operands(const Execution& execution) const override;
  // Multiply-accumulates N*K*(outputs)*(C/G)*(taps) in each pass.
  Arithmetic ArithmeticOf(const Execution& execution) const override;
  std::int64_t AccumulationLength(Pass pass) const override;
  PlannerTraits Traits() const override { return {.layout_policy = LayoutPolicy::kChooses}; }
  std::vector<Parameter> Parameters() const override;

  Shape src_shape() const;
  Shape weights_shape() const;
  Shape dst_shape() const;

 private:
  ConvNdExtents extents_;
  std::int64_t unread_ = 0;  // elements of src outside all windows
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_CONV_ND_CONV_ND_H_
