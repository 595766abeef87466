// Addition of tensors of one shape. A residual network adds a branch to its shortcut; a backward
// pass adds the gradients of a value that several operations read.

#ifndef TOPDNN_KERNELS_ELTWISE_ADD_H_
#define TOPDNN_KERNELS_ELTWISE_ADD_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/op/op.h"

namespace topdnn {

// Operands: forward src_0 ... src_(n-1) (IndexedSrc) -> dst, their sum, then a ReLU if it is
// fused. backward_data has no operands: the gradient of every source is diff_dst itself, and a
// planner uses its memory for all of them (passes_gradient_through). A value that several
// operations read gets several gradients; this operation sums those too. A NaN stays a NaN in the
// addition; for the ReLU see relu.h.
class AddOp : public Op {
 public:
  // Throws std::invalid_argument for fewer than 2 sources or more than kMaxSources, a scalar, or
  // extents below 1.
  AddOp(Shape shape, int sources, bool relu = false);

  const Shape& shape() const { return shape_; }
  int sources() const { return sources_; }
  bool relu() const { return relu_; }

  std::string_view kind() const override { return "add"; }
  std::string Problem() const override;  // "8x64x56x56_of2_relu"
  std::vector<Operand> Operands(const Execution& execution) const override;
  // One addition per element for each source except the first, and a MAX for the ReLU.
  Arithmetic ArithmeticOf(const Execution& execution) const override;
  std::int64_t AccumulationLength(Pass /*pass*/) const override { return sources_; }
  // Fuses a ReLU after it.
  std::shared_ptr<const Op> FusedWith(const Op& next) const override;
  // The result may overwrite the first source.
  PlannerTraits Traits() const override {
    return {.source_use = SourceUse::kSum,
            .forward_in_place = true,
            .passes_gradient_through = true,
            .final_relu_bound = relu_ ? std::optional(0.0F) : std::nullopt,
            .preserves_channel_constants = !relu_};
  }

 private:
  Shape shape_;
  int sources_;
  bool relu_;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_ELTWISE_ADD_H_
