// ReLU and its bounded kin (ReLU6): max(0, x), or min(max(0, x), bound).

#ifndef TOPDNN_KERNELS_ACTIVATION_RELU_H_
#define TOPDNN_KERNELS_ACTIVATION_RELU_H_

#include <string>

#include "kernels/activation/activation.h"

namespace topdnn {

// diff_src is diff_dst where dst is above 0 and below the bound, else 0. A NaN passes in all
// backends but oneDNN, whose 2.6's vector code, alone or fused, takes the maximum with zero and
// makes it 0.
class ReluOp : public ActivationOp {
 public:
  // `bound` 0: none. Throws std::invalid_argument for a negative bound or extents below 1.
  explicit ReluOp(Shape shape, float bound = 0.0F);

  float bound() const { return bound_; }

  std::string_view kind() const override { return bound_ == 0.0F ? "relu" : "bounded_relu"; }
  std::string Problem() const override;  // "8x64x56x56", "8x64x56x56_bound6"

 private:
  // Counters count a MAX as one.
  std::int64_t ElementFlops(Pass /*pass*/) const override { return 1; }

  float bound_;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_ACTIVATION_RELU_H_
