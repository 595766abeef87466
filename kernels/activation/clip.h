// Clip: limits every element to a range (ONNX Clip, PyTorch clamp, TensorFlow clip_by_value).

#ifndef TOPDNN_KERNELS_ACTIVATION_CLIP_H_
#define TOPDNN_KERNELS_ACTIVATION_CLIP_H_

#include <string>

#include "kernels/activation/activation.h"

namespace topdnn {

// dst = min(max(src, lowest), highest). diff_src is diff_dst where lowest < dst < highest, and 0
// elsewhere (at a bound there is no derivative; it is 0, as in ReLU). A NaN stays a NaN in all
// backends except oneDNN: the vector code of 2.6 replaces it by the lower bound.
//
// ReluOp is a separate operation, with or without an upper bound. Without an upper bound it needs
// half the work, and convolutions and the planner use its type to decide on fusion.
class ClipOp : public ActivationOp {
 public:
  // A bound may be infinite. Throws std::invalid_argument when lowest > highest, a bound is NaN, an
  // extent is below 1, or the tensor is too large.
  ClipOp(Shape shape, float lowest, float highest);

  float lowest() const { return lowest_; }
  float highest() const { return highest_; }

  std::string_view kind() const override { return "clip"; }
  std::string Problem() const override;  // "8x64x56x56_min-1_max1"

 private:
  // One MAX and one MIN, or two comparisons.
  std::int64_t ElementFlops(Pass /*pass*/) const override { return 2; }

  float lowest_, highest_;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_ACTIVATION_CLIP_H_
