// Adds a bias to each channel (TensorFlow BiasAdd and BiasAddGrad, ONNX Add of a vector), when it
// is not part of a convolution or an inner product.

#ifndef TOPDNN_KERNELS_BIAS_BIAS_H_
#define TOPDNN_KERNELS_BIAS_BIAS_H_

#include <string>
#include <vector>

#include "kernels/op/op.h"

namespace topdnn {

// Operands: forward src (N, C, ...), bias (C) -> dst = src + bias of its channel; backward_weights
// diff_dst -> diff_bias, the sum over all dimensions except the channels. There is no
// backward_data: the gradient of src is diff_dst itself (passes_gradient_through). In bf16 the bias
// and its gradient stay f32, as in ConvOp.
class BiasOp : public Op {
 public:
  // Throws std::invalid_argument for fewer than 2 dimensions or extents below 1.
  explicit BiasOp(Shape shape);

  const Shape& shape() const { return shape_; }
  std::int64_t channels() const { return shape_[1]; }

  std::string_view kind() const override { return "bias"; }
  std::string Problem() const override { return shape_.ToString(); }  // "8x64x56x56"
  std::vector<Operand> Operands(const Execution& execution) const override;
  // Forward: one addition per element. Backward: the same, but one less per channel.
  Arithmetic ArithmeticOf(const Execution& execution) const override;
  std::int64_t AccumulationLength(Pass pass) const override;
  std::vector<Parameter> Parameters() const override;
  PlannerTraits Traits() const override {
    return {.forward_in_place = true, .passes_gradient_through = true};
  }

 private:
  Shape shape_;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_BIAS_BIAS_H_
