// Inner product (fully connected layer), optionally with bias and fused ReLU: extents, operands and
// work. The source is a matrix (N, C) or an image (N, C, H, W). An image is used as (N, C*H*W)
// without a copy, so a blocked image needs no flattening.

#ifndef TOPDNN_KERNELS_INNER_PRODUCT_INNER_PRODUCT_H_
#define TOPDNN_KERNELS_INNER_PRODUCT_INNER_PRODUCT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/op/op.h"

namespace topdnn {

struct InnerProductEpilogue {
  bool bias = true;
  bool relu = false;   // applied last
  float bound = 0.0F;  // bound of the ReLU, as in ReluOp (ReLU6); 0: none

  bool operator==(const InnerProductEpilogue&) const = default;
};

// Operands: forward src, weights, [bias] -> dst (N, K); backward_data diff_dst, weights ->
// diff_src; backward_weights src, diff_dst -> diff_weights, [diff_bias]. Weights are (K, C) or (K,
// C, H, W), which are the same in memory. In bf16 the bias and the gradients of the parameters stay
// f32.
class InnerProductOp : public Op {
 public:
  // Throws std::invalid_argument for extents below 1, a source that is neither a matrix nor an
  // image, a tensor or a number of products that is too large (extents.h), or a bound that is
  // negative, NaN or without a ReLU.
  InnerProductOp(Shape src, std::int64_t outputs, InnerProductEpilogue epilogue = {});

  const InnerProductEpilogue& epilogue() const { return epilogue_; }
  std::int64_t batch() const { return src_[0]; }
  // Number of inputs summed per output: C, or C*H*W.
  std::int64_t inputs() const { return src_.elements() / src_[0]; }
  std::int64_t outputs() const { return outputs_; }

  std::string_view kind() const override { return "inner_product"; }
  // "n64c1024h4w4k64_bias", "n64c1024k64_relu", "n64c1024k64_bias_relu_bound6".
  std::string Problem() const override;
  std::vector<Operand> Operands(const Execution& execution) const override;
  // Multiply-accumulates N*K*C*H*W in each pass. Bias and epilogue are not counted.
  Arithmetic ArithmeticOf(const Execution& execution) const override;
  std::int64_t AccumulationLength(Pass pass) const override;
  PlannerTraits Traits() const override {
    return {.layout_policy = LayoutPolicy::kChooses,
            .final_relu_bound = epilogue_.relu ? std::optional(epilogue_.bound) : std::nullopt,
            .adds_constant_last = !epilogue_.relu};
  }
  std::vector<Parameter> Parameters() const override;
  // MagnitudeBeforeBound (kernels/activation/fused_relu.h).
  double MagnitudeOfDst(const Execution& execution,
                        const std::function<std::vector<double>(Arg)>& values) const override;
  // Fuses a ReLU after it, with or without a bound.
  std::shared_ptr<const Op> FusedWith(const Op& next) const override;
  std::shared_ptr<const Op> FoldedWith(const Op& next) const override;

  const Shape& src_shape() const { return src_; }
  Shape weights_shape() const;
  Shape dst_shape() const { return {src_[0], outputs_}; }

 private:
  Shape src_;
  std::int64_t outputs_;
  InnerProductEpilogue epilogue_;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_INNER_PRODUCT_INNER_PRODUCT_H_
