// Clip: every element limited to a range (ONNX Clip, PyTorch clamp, TensorFlow clip_by_value).

#ifndef TOPDNN_KERNELS_ACTIVATION_CLIP_H_
#define TOPDNN_KERNELS_ACTIVATION_CLIP_H_

#include <string>
#include <vector>

#include "kernels/op.h"

namespace topdnn {

// Operands: forward src -> dst = min(max(src, lowest), highest); backward_data diff_dst, dst ->
// diff_src, which is diff_dst where lowest < dst < highest, else 0 (at a bound, where there is no
// derivative, it is 0, as ReLU's is). The gradient is taken from dst, so that forward may overwrite
// its source. A NaN passes in the reference and the loops; oneDNN 2.6's vector code makes it the
// lower bound.
//
// ReluOp stays an operation of its own, bounded or not: half the work without an upper bound, and
// the name by which a convolution and a planner know what they may fuse.
class ClipOp : public Op {
 public:
  // A bound may be infinite. Throws std::invalid_argument for lowest > highest, a NaN or extents
  // below 1.
  ClipOp(Shape shape, float lowest, float highest);

  const Shape& shape() const { return shape_; }
  float lowest() const { return lowest_; }
  float highest() const { return highest_; }

  std::string_view kind() const override { return "clip"; }
  std::string Problem() const override;  // "8x64x56x56_min-1_max1"
  std::vector<Operand> Operands(const Execution& execution) const override;
  // Two operations an element: a MAX and a MIN, or two comparisons.
  Work WorkOf(Pass pass, DataType type) const override;
  std::int64_t AccumulationLength(Pass /*pass*/) const override { return 1; }
  bool RunsInPlace(Pass pass) const override { return pass != Pass::kBackwardWeights; }

 private:
  Shape shape_;
  float lowest_, highest_;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_ACTIVATION_CLIP_H_
