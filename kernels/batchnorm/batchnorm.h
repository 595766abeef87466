// Batch normalization over the channels of (N, C, ...): Ioffe and Szegedy 2015, "Batch
// Normalization: Accelerating Deep Network Training by Reducing Internal Covariate Shift".
//
//   dst = scale * (src - mean) / sqrt(variance + epsilon) + shift, then a ReLU where it is fused
//
// In training mean and variance are those of the batch, the variance divided by the number of
// elements (ONNX, oneDNN; frameworks that keep the unbiased one correct their running variance).

#ifndef TOPDNN_KERNELS_BATCHNORM_BATCHNORM_H_
#define TOPDNN_KERNELS_BATCHNORM_BATCHNORM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/op.h"

namespace topdnn {

// Operands, C the channels:
//   forward, training   src, scale (C), shift (C) -> dst, mean (C), variance (C), [workspace]
//   forward, inference  src, scale, shift, mean, variance -> dst
//   backward_data       src, mean, variance, scale, diff_dst, [workspace]
//                       -> diff_src, diff_scale (C), diff_shift (C)
// The gradients of the parameters come with that of src, for all three need the same two sums over
// a channel: there is no pass backward_weights. Statistics, parameters and their gradients stay f32
// in bf16. The workspace is there with a ReLU only, and says which elements it let through; its
// type and layout are the kernel's own. A NaN or infinity makes its channel NaN, and no other.
class BatchNormOp : public Op {
 public:
  static constexpr float kUsualEpsilon = 1e-5F;  // ONNX's, PyTorch's

  // `shape` (N, C) to (N, C, D, H, W). Throws std::invalid_argument for another rank, extents below
  // 1, a tensor too large, or an epsilon that is not above 0.
  explicit BatchNormOp(Shape shape, float epsilon = kUsualEpsilon, bool relu = false);

  const Shape& shape() const { return shape_; }
  float epsilon() const { return epsilon_; }
  bool relu() const { return relu_; }
  std::int64_t batch() const { return shape_[0]; }
  std::int64_t channels() const { return shape_[1]; }
  // Elements of one channel of one image.
  std::int64_t image() const { return shape_.elements() / (batch() * channels()); }

  std::string_view kind() const override { return "batchnorm"; }
  // "8x64x56x56", "8x64x56x56_eps0.001_relu"
  std::string Problem() const override;
  std::vector<Operand> Operands(const Execution& execution) const override;
  // That of training; WorkIn knows both. No multiply-accumulates, as published totals count none.
  Work WorkOf(Pass pass, DataType type) const override;
  // Of E elements in C channels, a root and a division being one operation each:
  //   forward, training   7 E + 6 C: sum 1; difference, square and its sum 3; difference, product
  //                       and sum 3. Two divisions a channel, and what inference does
  //   forward, inference  3 E + 4 C: difference, product, sum. Sum, root, division, product a
  //                       channel
  //   backward_data       9 E + 8 C: sum 1, difference 1, product and its sum 2; difference 1,
  //                       product and difference 2, difference 1, product 1. Sum, root, division
  //                       and five products a channel
  // A fused ReLU is one more an element (a MAX instruction) forward, and none backward.
  Work WorkIn(const Execution& execution) const override;
  // The elements of a channel.
  std::int64_t AccumulationLength(Pass /*pass*/) const override { return batch() * image(); }
  std::vector<Parameter> Parameters() const override;
  // With a ReLU after it; backward_data is then that of both.
  std::shared_ptr<const Op> FusedWith(const Op& next) const override;
  bool RunsInPlace(Pass pass) const override { return pass != Pass::kBackwardWeights; }

 private:
  Shape shape_;
  float epsilon_;
  bool relu_;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_BATCHNORM_BATCHNORM_H_
