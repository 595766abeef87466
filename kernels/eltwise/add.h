// Addition of tensors of one shape, as a residual network adds a branch to its shortcut and a
// backward pass the gradients of a value that several operations read.

#ifndef TOPDNN_KERNELS_ELTWISE_ADD_H_
#define TOPDNN_KERNELS_ELTWISE_ADD_H_

#include <memory>
#include <string>
#include <vector>

#include "kernels/op.h"

namespace topdnn {

// Operands: forward src_0 ... src_(n-1) (MultipleSrc) -> dst, their sum, then ReLU if it is fused.
// backward_data has none: the gradient of every source is diff_dst itself, so a planner lets it
// stand for them (PassesGradientOn). A value with several readers gets several gradients, and this
// same operation sums those. A NaN passes the addition; what ReLU makes of it is relu.h's.
class AddOp : public Op {
 public:
  // Throws std::invalid_argument for fewer than 2 sources or extents below 1.
  AddOp(Shape shape, int sources, bool relu = false);

  const Shape& shape() const { return shape_; }
  int sources() const { return sources_; }
  bool relu() const { return relu_; }

  std::string_view kind() const override { return "add"; }
  std::string Problem() const override;  // "8x64x56x56_of2_relu"
  std::vector<Operand> Operands(const Execution& execution) const override;
  // An addition an element for each source but the first, and a MAX for ReLU.
  Work WorkOf(Pass pass, DataType type) const override;
  std::int64_t AccumulationLength(Pass /*pass*/) const override { return sources_; }
  // With a ReLU after it.
  std::shared_ptr<const Op> FusedWith(const Op& next) const override;
  bool PassesGradientOn() const override { return true; }
  // Over the first source.
  bool RunsInPlace(Pass pass) const override { return pass == Pass::kForward; }

 private:
  Shape shape_;
  int sources_;
  bool relu_;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_ELTWISE_ADD_H_
