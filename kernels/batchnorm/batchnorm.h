// Batch normalization over the channels of (N, C, ...): Ioffe and Szegedy 2015, "Batch
// Normalization: Accelerating Deep Network Training by Reducing Internal Covariate Shift".
//
//   dst = scale * (src - mean) / sqrt(variance + epsilon) + shift, then a ReLU if it is fused
//
// In training, mean and variance are those of the batch. The variance is divided by the number of
// elements (n), as in ONNX and oneDNN. A framework whose running variance is unbiased multiplies it
// by n / (n - 1).

#ifndef TOPDNN_KERNELS_BATCHNORM_BATCHNORM_H_
#define TOPDNN_KERNELS_BATCHNORM_BATCHNORM_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/op/op.h"

namespace topdnn {

// Operands, C the channels:
//   forward, training   src, scale (C), shift (C) -> dst, mean (C), variance (C), [workspace]
//   forward, inference  src, scale, shift, mean, variance -> dst
//   backward_data       src, mean, variance, scale, diff_dst, [workspace]
//                       -> diff_src, diff_scale (C), diff_shift (C)
// The gradients of the parameters are computed together with that of src, because all three need
// the same two sums per channel. Therefore there is no pass backward_weights. Statistics,
// parameters and their gradients are f32 even if src is bf16. Only a fused ReLU needs the
// workspace: it records which elements were above 0 (and below the bound); its type and layout are
// the kernel's own. In training, a NaN or infinity makes the whole channel NaN, and no other
// channel.
class BatchNormOp : public Op {
 public:
  static constexpr float kDefaultEpsilon = 1e-5F;  // ONNX's, PyTorch's

  // `shape` is (N, C) to (N, C, D, H, W). Throws std::invalid_argument for another rank, extents
  // below 1, a tensor that is too large, an epsilon that is not finite and above 0, or a bound that
  // is negative, not finite, or of no ReLU.
  // `relu_bound`: upper bound of the ReLU; 0: none.
  explicit BatchNormOp(Shape shape, float epsilon = kDefaultEpsilon, bool relu = false,
                       float relu_bound = 0.0F);

  const Shape& shape() const { return shape_; }
  float epsilon() const { return epsilon_; }
  bool relu() const { return relu_; }
  float relu_bound() const { return relu_bound_; }
  std::int64_t batch() const { return shape_[0]; }
  std::int64_t channels() const { return shape_[1]; }
  // Number of elements in one channel of one image.
  std::int64_t image() const { return shape_.elements() / (batch() * channels()); }

  std::string_view kind() const override { return "batchnorm"; }
  // "8x64x56x56", "8x64x56x56_eps0.001_relu", "8x64x56x56_relu_bound6"
  std::string Problem() const override;
  std::vector<Operand> Operands(const Execution& execution) const override;
  // No multiply-accumulates, because published totals count none.
  // For E elements in C channels; a root and a division are one operation each:
  //   forward, training   7 E + 6 C: sum 1; difference, square and its sum 3; difference, product
  //                       and sum 3. Per channel: two divisions, and those of inference
  //   forward, inference  3 E + 4 C: difference, product, sum. Per channel: sum, root, division,
  //                       product
  //   backward_data       9 E + 8 C: sum 1, difference 1, product and its sum 2; difference 1,
  //                       product and difference 2, difference 1, product 1. Per channel: sum,
  //                       root, division and five products
  // A fused ReLU adds one per element (a MAX instruction) forward, and none backward.
  Arithmetic ArithmeticOf(const Execution& execution) const override;
  // The number of elements in a channel.
  std::int64_t AccumulationLength(Pass /*pass*/) const override { return batch() * image(); }
  std::vector<Parameter> Parameters() const override;
  // Fuses a ReLU after it, with or without a bound; backward_data then covers both.
  std::shared_ptr<const Op> FusedWith(const Op& next) const override;
  // In training, the largest value over the channels of |scale| * (root mean square of src) /
  // deviation: the operation subtracts the mean, so the rounding errors are relative to src, not to
  // the difference. 0 in inference.
  double MagnitudeOfDst(const Execution& execution,
                        const std::function<std::vector<double>(Arg)>& values) const override;
  // Training subtracts the batch's mean, and with it a constant of the channel.
  PlannerTraits Traits() const override {
    return {.forward_in_place = true,
            .backward_data_in_place = true,
            .workspace_is_relu_mask = relu_,
            .final_relu_bound = relu_ ? std::optional(relu_bound_) : std::nullopt,
            .removes_channel_constants = true,
            .adds_constant_last = !relu_};
  }

 private:
  Shape shape_;
  float epsilon_;
  bool relu_;
  float relu_bound_;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_BATCHNORM_BATCHNORM_H_
