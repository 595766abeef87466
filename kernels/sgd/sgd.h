// Updates of parameters by their gradients: stochastic gradient descent with momentum. A layer's
// parameters are one flat array, whatever their layouts.

#ifndef TOPDNN_KERNELS_SGD_SGD_H_
#define TOPDNN_KERNELS_SGD_SGD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/op/op.h"

namespace topdnn {

struct SgdSettings {
  float momentum = 0.0F;
  float weight_decay = 0.0F;  // L2: added to the gradient as weight_decay * weights
};

// g = diff_weights + weight_decay * weights; momentum' = momentum_setting * momentum + g;
// weights' = weights - learning_rate * momentum', as TensorFlow's ApplyMomentum and PyTorch's SGD
// do (without momentum: weights' = weights - learning_rate * g).
//
// Operands: forward diff_weights (n), learning_rate () -> weights (n), and with momentum momentum
// (n). The learning rate is an operand so that a schedule can change it between steps.
class SgdOp : public Op {
 public:
  // Throws std::invalid_argument for n below 1 or above kMaxElements.
  SgdOp(std::int64_t n, SgdSettings settings);

  const SgdSettings& settings() const { return settings_; }
  std::int64_t size() const { return n_; }

  std::string_view kind() const override { return "sgd"; }
  std::string Problem() const override;  // "n896_momentum0.9_decay0.0001"
  std::vector<Operand> Operands(const Execution& execution) const override;
  // Two operations per element for each of step, momentum and decay, if it is in use.
  Arithmetic ArithmeticOf(const Execution& execution) const override;
  std::int64_t AccumulationLength(Pass /*pass*/) const override { return 1; }
  PlannerTraits Traits() const override { return {.layout_policy = LayoutPolicy::kPlain}; }

 private:
  std::int64_t n_;
  SgdSettings settings_;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_SGD_SGD_H_
