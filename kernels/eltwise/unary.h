// Element-wise functions of one tensor, as rows of one table: ONNX's Abs, Exp, Tanh, LeakyRelu,
// Gelu, and so on. Activations that other layers fuse are separate operations
// (kernels/activation/).

#ifndef TOPDNN_KERNELS_ELTWISE_UNARY_H_
#define TOPDNN_KERNELS_ELTWISE_UNARY_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/op/op.h"

namespace topdnn {

// One row of the table. The formulas are ONNX's.
struct UnaryFunction {
  std::string_view name;  // "leaky_relu"
  int parameters;         // 0; 1: alpha; 2: alpha and beta
  float alpha, beta;      // their default values, which are ONNX's
  // FLOPs per element; an elementary function, a comparison and a rounding are one each.
  std::int64_t forward_flops, backward_flops;
  double (*value)(double x, double alpha, double beta);
  // The derivative in x. nullptr for a piecewise constant function.
  double (*derivative)(double x, double alpha, double beta);
  // The same in f32 for n elements: dst = value(src), diff_src = diff_dst * derivative(src).
  void (*values)(const float* src, float alpha, float beta, std::int64_t n, float* dst);
  void (*gradients)(const float* src, const float* diff_dst, float alpha, float beta,
                    std::int64_t n, float* diff_src);
};

std::span<const UnaryFunction> UnaryFunctions();
// The row with that name, or nullptr.
const UnaryFunction* FindUnaryFunction(std::string_view name);

// Operands: forward src -> dst; backward_data src, diff_dst -> diff_src. A function without a
// derivative has no backward pass. A NaN stays a NaN in the reference and in the loops.
class UnaryOp : public Op {
 public:
  // Throws std::invalid_argument for extents below 1, a tensor that is too large, and infinite or
  // NaN parameters.
  UnaryOp(const UnaryFunction& function, Shape shape, float alpha, float beta);
  // With the default parameters. Throws std::invalid_argument when no row has that name.
  UnaryOp(std::string_view function, Shape shape);

  const UnaryFunction& function() const { return function_; }
  const Shape& shape() const { return shape_; }
  float alpha() const { return alpha_; }
  float beta() const { return beta_; }
  bool HasDefaults() const { return alpha_ == function_.alpha && beta_ == function_.beta; }

  std::string_view kind() const override { return "unary"; }
  std::string Problem() const override;  // "leaky_relu8x64x56x56_alpha0.01"
  std::vector<Operand> Operands(const Execution& execution) const override;
  Arithmetic ArithmeticOf(const Execution& execution) const override;
  std::int64_t AccumulationLength(Pass /*pass*/) const override { return 1; }
  PlannerTraits Traits() const override {
    return {.forward_in_place = true, .backward_data_in_place = true};
  }

 private:
  const UnaryFunction& function_;
  Shape shape_;
  float alpha_, beta_;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_ELTWISE_UNARY_H_
