// Running statistics: the exponential moving average of each batch's mean and variance. Inference
// normalizes with them. In ONNX, BatchNormalization in training mode computes them.

#ifndef TOPDNN_KERNELS_BATCHNORM_MOVING_AVERAGE_H_
#define TOPDNN_KERNELS_BATCHNORM_MOVING_AVERAGE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/op/op.h"

namespace topdnn {

// dst = momentum * dst + (1 - momentum) * src. PyTorch calls 1 - momentum the momentum. Operands:
// forward src (n), dst (n); dst is read and written.
class MovingAverageOp : public Op {
 public:
  static constexpr float kDefaultMomentum = 0.9F;  // ONNX's

  // Throws std::invalid_argument for n below 1 or a momentum outside [0, 1].
  explicit MovingAverageOp(std::int64_t n, float momentum = kDefaultMomentum);

  std::int64_t size() const { return n_; }
  float momentum() const { return momentum_; }

  std::string_view kind() const override { return "moving_average"; }
  std::string Problem() const override;  // "n64", "n64_momentum0.99"
  std::vector<Operand> Operands(const Execution& execution) const override;
  // Two products and a sum per element.
  Arithmetic ArithmeticOf(const Execution& execution) const override;
  std::int64_t AccumulationLength(Pass /*pass*/) const override { return 2; }
  PlannerTraits Traits() const override { return {.layout_policy = LayoutPolicy::kPlain}; }

 private:
  std::int64_t n_;
  float momentum_;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_BATCHNORM_MOVING_AVERAGE_H_
