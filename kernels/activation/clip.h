// Clip: every element limited to a range (ONNX Clip, PyTorch clamp, TensorFlow clip_by_value).

#ifndef TOPDNN_KERNELS_ACTIVATION_CLIP_H_
#define TOPDNN_KERNELS_ACTIVATION_CLIP_H_

#include <string>

#include "kernels/activation/activation.h"

namespace topdnn {

// dst = min(max(src, lowest), highest); diff_src is diff_dst where lowest < dst < highest, else 0
// (at a bound, where there is no derivative, it is 0, as ReLU's is). A NaN passes in all backends
// but oneDNN, whose 2.6's vector code makes it the lower bound.
//
// ReluOp stays an operation of its own, bounded or not: half the work without an upper bound, and
// the name by which a convolution and a planner know what they may fuse.
class ClipOp : public ActivationOp {
 public:
  // A bound may be infinite. Throws std::invalid_argument for lowest > highest, a NaN or extents
  // below 1.
  ClipOp(Shape shape, float lowest, float highest);

  float lowest() const { return lowest_; }
  float highest() const { return highest_; }

  std::string_view kind() const override { return "clip"; }
  std::string Problem() const override;  // "8x64x56x56_min-1_max1"

 private:
  // A MAX and a MIN, or two comparisons.
  std::int64_t ElementFlops(Pass /*pass*/) const override { return 2; }

  float lowest_, highest_;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_ACTIVATION_CLIP_H_
