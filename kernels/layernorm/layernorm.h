// Layer normalization over the channels of each pixel of (N, C, ...): Ba, Kiros and Hinton 2016,
// "Layer Normalization", in the form of ConvNeXt (Liu et al. 2022). A row (N, C) is one pixel.
//
//   dst = scale * (src - mean) / sqrt(variance + epsilon) + shift
//
// Mean and variance are those of one pixel, in training and in inference. The variance is divided
// by C, as in PyTorch, ONNX and oneDNN.

#ifndef TOPDNN_KERNELS_LAYERNORM_LAYERNORM_H_
#define TOPDNN_KERNELS_LAYERNORM_LAYERNORM_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/op/op.h"

namespace topdnn {

// Operands, C the channels and P the pixels of all images, (N, ...) in row-major order:
//   forward        src, scale (C), shift (C) -> dst; in training also mean (P), variance (P)
//   backward_data  src, mean, variance, scale, diff_dst -> diff_src, diff_scale (C), diff_shift (C)
// As in BatchNormOp, one pass computes all gradients, and statistics, parameters and the gradients
// of these are f32 even if src is bf16.
class LayerNormOp : public Op {
 public:
  static constexpr float kDefaultEpsilon = 1e-5F;  // ONNX's, PyTorch's

  // `shape` is (N, C) to (N, C, D, H, W). Throws std::invalid_argument for another rank, extents
  // below 1, a tensor that is too large, or an epsilon that is not finite and above 0.
  explicit LayerNormOp(Shape shape, float epsilon = kDefaultEpsilon);

  const Shape& shape() const { return shape_; }
  float epsilon() const { return epsilon_; }
  std::int64_t channels() const { return shape_[1]; }
  std::int64_t pixels() const { return shape_.elements() / channels(); }

  std::string_view kind() const override { return "layernorm"; }
  std::string Problem() const override;  // "8x96x56x56", "8x96x56x56_eps1e-06"
  std::vector<Operand> Operands(const Execution& execution) const override;
  // For E elements in P pixels; a root and a division are one operation each:
  //   forward        8 E + 5 P: sum 1; difference, square and its sum 3; difference, two products
  //                  and sum 4. Per pixel: two divisions; sum, root and division
  //   backward_data  13 E + 5 P: difference and product 2; product and two sums 3; two products
  //                  with scale and their sums 4; two differences and two products 4. Per pixel:
  //                  sum, root and division; two divisions
  Arithmetic ArithmeticOf(const Execution& execution) const override;
  // The number of terms of the longest sum.
  std::int64_t AccumulationLength(Pass pass) const override {
    return pass == Pass::kForward ? channels() : std::max(channels(), pixels());
  }
  std::vector<Parameter> Parameters() const override;
  // The largest value over the pixels of (root mean square of src) / deviation, times the largest
  // scale: the operation subtracts the mean, so rounding errors are relative to src.
  double MagnitudeOfDst(const Execution& execution,
                        const std::function<std::vector<double>(Arg)>& values) const override;
  PlannerTraits Traits() const override { return {.forward_in_place = true}; }

 private:
  Shape shape_;
  float epsilon_;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_LAYERNORM_LAYERNORM_H_
