// The logistic function and its piecewise linear approximation (ONNX Sigmoid and HardSigmoid), as
// used in the gates of squeeze-and-excitation blocks.

#ifndef TOPDNN_KERNELS_ACTIVATION_SIGMOID_H_
#define TOPDNN_KERNELS_ACTIVATION_SIGMOID_H_

#include <string>

#include "kernels/activation/activation.h"

namespace topdnn {

// dst = 1 / (1 + exp(-src)); diff_src = diff_dst * dst * (1 - dst). Infinities give 0 and 1; a NaN
// stays a NaN.
class SigmoidOp : public ActivationOp {
 public:
  // Throws std::invalid_argument for extents below 1.
  explicit SigmoidOp(Shape shape);

  std::string_view kind() const override { return "sigmoid"; }
  std::string Problem() const override { return shape().ToString(); }  // "8x64x56x56"

 private:
  // Forward: exponential, sum and quotient. Backward: one difference and two products.
  std::int64_t ElementFlops(Pass /*pass*/) const override { return 3; }
};

// dst = max(0, min(1, alpha * src + beta)); diff_src is alpha * diff_dst where 0 < dst < 1, and 0
// elsewhere. A NaN stays a NaN in all backends except oneDNN: the vector code of 2.6 replaces it by
// 0.
class HardSigmoidOp : public ActivationOp {
 public:
  // The defaults are ONNX's. Throws std::invalid_argument for extents below 1, and for infinite or
  // NaN factors.
  explicit HardSigmoidOp(Shape shape, float alpha = 0.2F, float beta = 0.5F);

  float alpha() const { return alpha_; }
  float beta() const { return beta_; }

  std::string_view kind() const override { return "hard_sigmoid"; }
  std::string Problem() const override;  // "8x64x56x56_alpha0.2_beta0.5"

 private:
  // Forward: product, sum, MIN and MAX. Backward: two comparisons and a product.
  std::int64_t ElementFlops(Pass pass) const override { return pass == Pass::kForward ? 4 : 3; }

  float alpha_, beta_;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_ACTIVATION_SIGMOID_H_
