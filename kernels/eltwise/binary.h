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

// Which of the two tensors is a constant of the network.
enum class BinaryConstant { kNone, kFirst, kSecond };

// Operands: forward (first, second) -> dst. Tensors that the network computes are src, or src_0 and
// src_1 when both are; a constant is the parameter `constant` in the role of weights. Only a
// product of two computed tensors has a backward pass, if the second has the first's extents, or 1
// in the last ones (HasGradients): backward_data src_0, src_1, diff_dst -> diff_src_0, diff_src_1.
class BinaryOp : public Op {
 public:
  // Extents are broadcast: in each dimension they are equal, or one of them is 1. Throws
  // std::invalid_argument for extents that do not match, extents below 1 and different ranks.
  BinaryOp(const BinaryFunction& function, Shape first, Shape second, BinaryConstant constant);

  const BinaryFunction& function() const { return function_; }
  const Shape& first() const { return first_; }
  const Shape& second() const { return second_; }
  const Shape& dst() const { return dst_; }
  BinaryConstant constant() const { return constant_; }
  Arg first_arg() const;
  Arg second_arg() const;
  bool HasGradients() const;

  std::string_view kind() const override { return "binary"; }
  // "sub8x64x56x56_by1x64x1x1"; "_constant" follows when the second is one, "_of" when the first
  // is.
  std::string Problem() const override;
  std::vector<Operand> Operands(const Execution& execution) const override;
  Work WorkOf(Pass pass, DataType type) const override;
  std::int64_t AccumulationLength(Pass pass) const override;
  std::vector<Parameter> Parameters() const override;

 private:
  const BinaryFunction& function_;
  Shape first_, second_, dst_;
  BinaryConstant constant_;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_ELTWISE_BINARY_H_
