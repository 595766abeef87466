// 2-D convolution (cross-correlation, as in every framework), optionally with bias, fused ReLU,
// another fused function or fused addition: extents, operands and work.

#ifndef TOPDNN_KERNELS_CONV_CONV_H_
#define TOPDNN_KERNELS_CONV_CONV_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/eltwise/unary.h"
#include "kernels/op/op.h"

namespace topdnn {

// The geometry of a convolution. Dilation 1 means a dense kernel.
struct ConvExtents {
  std::int64_t n = 1, c = 1, h = 1, w = 1;  // src (N, C, H, W)
  std::int64_t k = 1, r = 1, s = 1;         // weights (K, C/groups, R, S)
  std::int64_t stride_h = 1, stride_w = 1;
  std::int64_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  std::int64_t dilation_h = 1, dilation_w = 1;
  std::int64_t groups = 1;

  // Extents of dst (N, K, OH, OW).
  std::int64_t oh() const;
  std::int64_t ow() const;

  bool operator==(const ConvExtents&) const = default;
};

// Whether each input channel is a group.
inline bool IsDepthwise(const ConvExtents& e) { return e.groups > 1 && e.groups == e.c; }
// The convolution of the channels of one group.
inline ConvExtents OfOneGroup(ConvExtents e) {
  e.c /= e.groups;
  e.k /= e.groups;
  e.groups = 1;
  return e;
}

// The images of a convolution and of its gradients; its weights and their gradient.
inline bool IsActivation(Arg arg) {
  return arg == Arg::kSrc || arg == Arg::kDst || arg == Arg::kDiffSrc || arg == Arg::kDiffDst;
}
inline bool IsWeights(Arg arg) { return arg == Arg::kWeights || arg == Arg::kDiffWeights; }

// Applied to the sums of a convolution in the forward pass, in this order. In backward_weights
// `bias` adds the operand diff_bias; other fields than `narrow` have no effect in the backward
// passes.
struct ConvEpilogue {
  bool bias = true;
  bool sum = false;    // adds the previous content of dst
  bool relu = false;   // ReLU, applied last
  float bound = 0.0F;  // bound of the ReLU, as in ReluOp (ReLU6); 0: none
  // Another function instead of the ReLU, applied last, with its default parameters; null: none.
  // Its gradient needs the sums, which nothing keeps, so it is fused in inference only.
  const UnaryFunction* function = nullptr;
  // In bf16 and f16 the bias and the gradients of weights and bias are of that type too, as in
  // PyTorch, instead of f32. A gradient is then rounded once. No effect in other types.
  bool narrow = false;

  bool operator==(const ConvEpilogue&) const = default;
};

// Operands: forward src, weights, [bias (K)] -> dst, which is also an input with a fused addition;
// backward_data diff_dst, weights -> diff_src; backward_weights src, diff_dst -> diff_weights,
// [diff_bias (K)]. With groups, weights have the shape (G, K/G, C/G, R, S), which is (K, C/G, R, S)
// in row-major memory. TypesOf (kernels/op/op.h) gives the element types.
class ConvOp : public Op {
 public:
  // Throws std::invalid_argument, in one line, for an impossible geometry, sizes above the limits
  // of kernels/tensor/extents.h, a bound that is negative, NaN or without a ReLU, or a ReLU beside
  // another function.
  explicit ConvOp(const ConvExtents& extents, ConvEpilogue epilogue = {});

  const ConvExtents& extents() const { return extents_; }
  const ConvEpilogue& epilogue() const { return epilogue_; }

  std::string_view kind() const override { return "conv"; }
  // "n8c64h56w56k64r3s3u1v1p1q1_bias_relu" ("_relu_bound6", "_hardswish", "_narrow"), in the
  // letters of DeepBench and MIOpen: strides u and v, leading padding p and q, trailing padding P
  // and Q, dilation d and e, groups g. Trailing padding equal to the leading one, dilation 1 and
  // one group are left out.
  std::string Problem() const override;
  std::vector<Operand> Operands(const Execution& execution) const override;
  // Multiply-accumulates N*K*OH*OW*(C/G)*R*S in each pass; bias and epilogue are not counted.
  Arithmetic ArithmeticOf(const Execution& execution) const override;
  std::int64_t AccumulationLength(Pass pass) const override;
  // MagnitudeBeforeBound (kernels/activation/fused_relu.h).
  double MagnitudeOfDst(const Execution& execution,
                        const std::function<std::vector<double>(Arg)>& values) const override;
  PlannerTraits Traits() const override;
  std::vector<Parameter> Parameters() const override;
  // Fuses a ReLU after it, with or without a bound, another function with its default parameters,
  // or an addition of two tensors, with its ReLU. For an addition the kernel adds its result to
  // dst, which must hold the other source before. Nothing is fused after a function.
  std::shared_ptr<const Op> FusedWith(const Op& next) const override;
  std::shared_ptr<const Op> FoldedWith(const Op& next) const override;
  // A ConvDepthwiseOp.
  std::shared_ptr<const Op> ChainedWith(const Op& next) const override;
  // With padding, the results at the border differ from those inside.

  Shape src_shape() const;
  Shape weights_shape() const;
  Shape dst_shape() const;

 private:
  bool HasFunction() const { return epilogue_.relu || epilogue_.function != nullptr; }

  ConvExtents extents_;
  ConvEpilogue epilogue_;
  std::int64_t unread_ = 0;  // elements of src outside all windows
};

// Why a backend (`whose` in the message) that applies no function but a ReLU cannot compute this;
// empty if it can.
std::string FunctionRefusal(std::string_view whose, const Op& conv, Pass pass);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_CONV_CONV_H_
