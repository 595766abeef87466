// A convolution of single pixels and the depthwise convolution after it, in one kernel: the tensor
// between them, often the largest of a network, stays in the caches. For inference.

#ifndef TOPDNN_KERNELS_CONV_CONV_DEPTHWISE_H_
#define TOPDNN_KERNELS_CONV_CONV_DEPTHWISE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/conv/conv.h"
#include "kernels/op/op.h"

namespace topdnn {

// Operands of forward: src (N, C, H, W), weights (K, C, 1, 1), [bias (K)] of the first convolution,
// weights_1 (K, 1, 1, 3, 3), [bias_1 (K)] of the depthwise one -> dst (N, K, OH, OW). There are no
// gradients. Types other than f32 and f64 have no such operation, because they would round the
// tensor between the convolutions.
//
// Source: oneDNN's guide, "Primitive Attributes: Post-ops", "Depthwise" (the fusion of MobileNet's
// blocks).
class ConvDepthwiseOp : public Op {
 public:
  // Throws std::invalid_argument, in one line, unless Joins(pointwise, depthwise).
  ConvDepthwiseOp(const ConvOp& pointwise, const ConvOp& depthwise);

  // Whether the second convolution, of windows of 3x3 with stride 1 or 2 and padding 1, is
  // depthwise and reads what the first one computes from single pixels. Neither has a fused
  // addition.
  static bool Joins(const ConvOp& pointwise, const ConvOp& depthwise);

  const ConvOp& pointwise() const { return pointwise_; }
  const ConvOp& depthwise() const { return depthwise_; }
  // The operand of the depthwise convolution that the operand `arg` is.
  static Arg OfDepthwise(Arg arg) { return {arg.role, 1}; }

  std::string_view kind() const override { return "conv_depthwise"; }
  // "n8c24h56w56k144u1_bias_relu_bound6_dwbias_dwrelu_dwbound6": u is the stride of the depthwise
  // convolution, and the flags that begin with dw are its epilogue.
  std::string Problem() const override;
  std::vector<Operand> Operands(const Execution& execution) const override;
  // That of both convolutions. The bytes do not have the tensor between them.
  Arithmetic ArithmeticOf(const Execution& execution) const override;
  std::int64_t AccumulationLength(Pass pass) const override;
  // The root mean square of the sums without ReLUs, estimated for terms of random sign.
  double MagnitudeOfDst(const Execution& execution,
                        const std::function<std::vector<double>(Arg)>& values) const override;
  PlannerTraits Traits() const override {
    return {.layout_policy = LayoutPolicy::kChooses,
            .final_relu_bound = depthwise_.Traits().final_relu_bound};
  }
  std::vector<Parameter> Parameters() const override;
  // What the depthwise convolution fuses or folds, except an addition.
  std::shared_ptr<const Op> FusedWith(const Op& next) const override;
  std::shared_ptr<const Op> FoldedWith(const Op& next) const override;

 private:
  std::shared_ptr<const Op> WithDepthwise(const std::shared_ptr<const Op>& op) const;

  ConvOp pointwise_;
  ConvOp depthwise_;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_CONV_CONV_DEPTHWISE_H_
