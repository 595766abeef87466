// ReLU and its bounded kin (ReLU6): max(0, x), or min(max(0, x), bound).

#ifndef TOPDNN_KERNELS_ACTIVATION_RELU_H_
#define TOPDNN_KERNELS_ACTIVATION_RELU_H_

#include <string>
#include <vector>

#include "kernels/op.h"

namespace topdnn {

// Operands: forward src -> dst; backward_data diff_dst, dst -> diff_src, which is diff_dst where
// dst is above 0 and below the bound, else 0. The gradient is taken from dst, not src, so that
// forward may overwrite its source and may be fused into the operation before it. A NaN passes in
// the reference; oneDNN 2.6's vector code, alone or fused, takes the maximum with zero and makes it
// 0.
class ReluOp : public Op {
 public:
  // `bound` 0: none. Throws std::invalid_argument for a negative bound or extents below 1.
  explicit ReluOp(Shape shape, float bound = 0.0F);

  const Shape& shape() const { return shape_; }
  float bound() const { return bound_; }

  std::string_view kind() const override { return bound_ == 0.0F ? "relu" : "bounded_relu"; }
  std::string Problem() const override;  // "8x64x56x56", "8x64x56x56_bound6"
  std::vector<Operand> Operands(const Execution& execution) const override;
  // One operation an element: counters count a MAX as one.
  Work WorkOf(Pass pass, DataType type) const override;
  std::int64_t AccumulationLength(Pass /*pass*/) const override { return 1; }
  bool RunsInPlace(Pass pass) const override { return pass != Pass::kBackwardWeights; }

 private:
  Shape shape_;
  float bound_;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_ACTIVATION_RELU_H_
