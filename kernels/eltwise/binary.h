// Element-wise functions of two tensors with broadcasting, as rows of one table: ONNX's Sub, Mul,
// Div, Pow, Max, PRelu, and so on. AddOp (add.h) is the sum of tensors of one shape.

#ifndef TOPDNN_KERNELS_ELTWISE_BINARY_H_
#define TOPDNN_KERNELS_ELTWISE_BINARY_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/op/op.h"

namespace topdnn {

struct BinaryFunction {
  std::string_view name;  // "sub"
  // FLOPs per element; a power, a remainder and a comparison are one each.
  std::int64_t flops;
  double (*value)(double a, double b);
  // The same in f32 for n elements. A step is 1, or 0 for a source that stays the same.
  void (*values)(const float* a, std::int64_t step_a, const float* b, std::int64_t step_b,
                 std::int64_t n, float* dst);
};

std::span<const BinaryFunction> BinaryFunctions();
// The row with that name, or nullptr.
const BinaryFunction* FindBinaryFunction(std::string_view name);

// Which of the two tensors is a constant of the network. kTrained: the second is a parameter that
// training changes.
enum class BinaryConstant { kNone, kFirst, kSecond, kTrained };

// Operands: forward (first, second) -> dst. Tensors that the network computes are src, or src_0 and
// src_1 when both are; a constant is the parameter `constant` in the role of weights. Only products
// have a backward pass (HasGradients): of two computed tensors, if the second has the first's
// extents, or 1 in the last ones: backward_data src_0, src_1, diff_dst -> diff_src_0, diff_src_1;
// and by a trained factor of each channel, (1, C, 1, ...): backward_data src, weights, diff_dst ->
// diff_src, diff_weights (f32 in bf16, too).
class BinaryOp : public Op {
 public:
  // Extents are broadcast: in each dimension they are equal, or one of them is 1. Throws
  // std::invalid_argument for extents that do not match, extents below 1, different ranks, and a
  // trained tensor that is no factor of each channel. `initial`: the constant's start value.
  BinaryOp(const BinaryFunction& function, Shape first, Shape second, BinaryConstant constant,
           double initial = 1.0);

  const BinaryFunction& function() const { return function_; }
  const Shape& first() const { return first_; }
  const Shape& second() const { return second_; }
  const Shape& dst() const { return dst_; }
  BinaryConstant constant() const { return constant_; }
  // Whether the constant is one tensor for all images, whose gradient sums over them.
  bool is_trained() const { return constant_ == BinaryConstant::kTrained; }
  Arg first_arg() const;
  Arg second_arg() const;
  // Of the gradients in backward_data.
  Arg diff_first_arg() const { return is_trained() ? Arg(Arg::kDiffSrc) : IndexedDiffSrc(0); }
  Arg diff_second_arg() const { return is_trained() ? Arg(Arg::kDiffWeights) : IndexedDiffSrc(1); }
  bool HasGradients() const;
  // Whether it multiplies each channel by a constant, (1, C, 1, ...).
  bool ScalesChannels() const;

  std::string_view kind() const override { return "binary"; }
  // "sub8x64x56x56_by1x64x1x1"; "_constant" or "_trained" follows when the second is one, "_of"
  // when the first is.
  std::string Problem() const override;
  std::vector<Operand> Operands(const Execution& execution) const override;
  Arithmetic ArithmeticOf(const Execution& execution) const override;
  std::int64_t AccumulationLength(Pass pass) const override;
  std::vector<Parameter> Parameters() const override;

 private:
  const BinaryFunction& function_;
  Shape first_, second_, dst_;
  BinaryConstant constant_;
  double initial_;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_ELTWISE_BINARY_H_
