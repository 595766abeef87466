// Updates of parameters by Adam (Kingma and Ba 2015, "Adam: A Method for Stochastic Optimization",
// algorithm 1 with the efficient order of section 2). Parameters are flat, as in SgdOp.

#ifndef TOPDNN_KERNELS_SGD_ADAM_H_
#define TOPDNN_KERNELS_SGD_ADAM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/op/op.h"

namespace topdnn {

struct AdamSettings {
  float beta1 = 0.9F;
  float beta2 = 0.999F;
  float epsilon = 1e-8F;
  float weight_decay = 0.0F;  // L2: added to the gradient as weight_decay * weights
};

// Operands: forward diff_weights (n), learning_rate () -> weights (n), momentum (n), second_moment
// (n), step (). step is the number of updates done so far; the kernel increments it.
class AdamOp : public Op {
 public:
  // Throws std::invalid_argument for n below 1 or above kMaxElements.
  AdamOp(std::int64_t n, AdamSettings settings);

  const AdamSettings& settings() const { return settings_; }
  std::int64_t size() const { return n_; }

  std::string_view kind() const override { return "adam"; }
  std::string Problem() const override;  // "n896"
  std::vector<Operand> Operands(const Execution& execution) const override;
  // Twelve operations per element: three for the first moment, four for the second, the root and
  // four for the step. Two more with weight decay.
  Arithmetic ArithmeticOf(const Execution& execution) const override;
  std::int64_t AccumulationLength(Pass /*pass*/) const override { return 4; }
  PlannerTraits Traits() const override { return {.layout_policy = LayoutPolicy::kPlain}; }

 private:
  std::int64_t n_;
  AdamSettings settings_;
};

// The step size of update number `step` (from 1), including both bias corrections.
double CorrectedRate(double rate, const AdamSettings& settings, std::int32_t step);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_SGD_ADAM_H_
