// The base of the element-wise activations: one source tensor, one result of the same shape, and a
// gradient that is computed from the result. Each activation is a class in a file beside this one.

#ifndef TOPDNN_KERNELS_ACTIVATION_ACTIVATION_H_
#define TOPDNN_KERNELS_ACTIVATION_ACTIVATION_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/op/op.h"

namespace topdnn {

// Operands: forward src -> dst; backward_data diff_dst, dst -> diff_src. The gradient is computed
// from dst, not src. So forward may overwrite its source, and it may be fused into the operation
// before it.
class ActivationOp : public Op {
 public:
  const Shape& shape() const { return shape_; }

  std::vector<Operand> Operands(const Execution& execution) const override;
  Arithmetic ArithmeticOf(const Execution& execution) const override;
  std::int64_t AccumulationLength(Pass /*pass*/) const override { return 1; }
  PlannerTraits Traits() const override {
    return {.forward_in_place = true, .backward_data_in_place = true};
  }

 protected:
  explicit ActivationOp(Shape shape) : shape_(std::move(shape)) {}

 private:
  // FLOPs per element, forward or backward.
  virtual std::int64_t ElementFlops(Pass pass) const = 0;

  Shape shape_;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_ACTIVATION_ACTIVATION_H_
