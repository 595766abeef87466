// Arithmetic on integers in a row, such as x * 37 / 256 between the convolutions of an integer
// network. Its intermediate results may exceed what f32 represents, so it is one operation, which
// computes in 64-bit integers.

#ifndef TOPDNN_KERNELS_ELTWISE_INTEGER_STEPS_H_
#define TOPDNN_KERNELS_ELTWISE_INTEGER_STEPS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/op/op.h"

namespace topdnn {

enum class IntegerStep { kAdd = 1, kSub, kMul, kDiv, kMin, kMax };

// Operands: forward (src, weights) -> dst of the same shape. Elements are whole numbers in the type
// of dst; a fraction is dropped. The parameter `constant` (steps, C) has the second operands of the
// steps, where C is 1 or the number of channels, dimension 1 of src. A quotient is rounded to 0,
// and a division by 0 gives 0. There is no backward pass.
class IntegerStepsOp : public Op {
 public:
  // Throws std::invalid_argument for extents below 1, other channels, and not 1 to 9 steps.
  IntegerStepsOp(Shape shape, std::vector<IntegerStep> steps, std::int64_t channels);

  const Shape& shape() const { return shape_; }
  const std::vector<IntegerStep>& steps() const { return steps_; }
  std::int64_t channels() const { return channels_; }
  // Consecutive elements with the same second operands.
  std::int64_t run() const { return run_; }

  std::string_view kind() const override { return "integer_steps"; }
  // "1x4x8x8_steps34_channels4": each digit is a step, 1 for the first of IntegerStep.
  std::string Problem() const override;
  std::vector<Operand> Operands(const Execution& execution) const override;
  // An operation per step and element.
  Arithmetic ArithmeticOf(const Execution& execution) const override;
  std::int64_t AccumulationLength(Pass /*pass*/) const override { return 0; }
  PlannerTraits Traits() const override { return {.layout_policy = LayoutPolicy::kPlain}; }
  std::vector<Parameter> Parameters() const override;

 private:
  Shape shape_;
  std::vector<IntegerStep> steps_;
  std::int64_t channels_, run_;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_ELTWISE_INTEGER_STEPS_H_
