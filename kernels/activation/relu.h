// ReLU and bounded ReLU (ReLU6): max(0, x), or min(max(0, x), bound).

#ifndef TOPDNN_KERNELS_ACTIVATION_RELU_H_
#define TOPDNN_KERNELS_ACTIVATION_RELU_H_

#include <optional>
#include <string>

#include "kernels/activation/activation.h"

namespace topdnn {

// diff_src is diff_dst where dst is above 0 and below the bound, and 0 elsewhere. A NaN stays a NaN
// in all backends except oneDNN: the vector code of 2.6, alone or fused, computes the maximum with
// zero and gives 0.
class ReluOp : public ActivationOp {
 public:
  // `bound` 0 means no bound. Throws std::invalid_argument for a bound that is negative or NaN, a
  // scalar, extents below 1, or a tensor that is too large.
  explicit ReluOp(Shape shape, float bound = 0.0F);

  float bound() const { return bound_; }

  std::string_view kind() const override { return bound_ == 0.0F ? "relu" : "bounded_relu"; }
  std::string Problem() const override;  // "8x64x56x56", "8x64x56x56_bound6"
  // A narrow type may round the bound.
  std::int64_t AccumulationLength(Pass /*pass*/) const override { return bound_ == 0.0F ? 0 : 1; }
  PlannerTraits Traits() const override {
    PlannerTraits traits = ActivationOp::Traits();
    traits.final_relu_bound = bound_;
    if (bound_ == 0.0F) traits.source_use = SourceUse::kPositivePart;
    return traits;
  }

 private:
  // FLOP counters count a MAX as one operation.
  std::int64_t ElementFlops(Pass /*pass*/) const override { return 1; }

  float bound_;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_ACTIVATION_RELU_H_
