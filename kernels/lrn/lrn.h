// Local response normalization across channels: Krizhevsky, Sutskever and Hinton 2012, "ImageNet
// Classification with Deep Convolutional Neural Networks", section 3.3. As in Caffe, ONNX and
// oneDNN, alpha is divided by the window's size (the paper's alpha is alpha / size here).
//
//   dst = src / scale^beta,   scale = k + alpha / size * sum of src^2 over the window
//
// The window of channel c is the channels c - (size - 1) / 2 to c + size / 2 that exist.

#ifndef TOPDNN_KERNELS_LRN_LRN_H_
#define TOPDNN_KERNELS_LRN_LRN_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/op/op.h"

namespace topdnn {

// ONNX's defaults, except for the size, which has no default there. AlexNet: 5, 5e-4, 0.75, 2.
struct LrnSettings {
  std::int64_t size = 5;
  float alpha = 1e-4F;
  float beta = 0.75F;
  float k = 1.0F;

  bool operator==(const LrnSettings&) const = default;
};

// Channels [first, end).
struct LrnWindow {
  std::int64_t first, end;
};

// Operands: forward src -> dst, in training also workspace; backward_data src, workspace, diff_dst
// -> diff_src. The workspace holds `scale` in the loops and is opaque in oneDNN. A kernel that
// recomputes has no workspace: backward_data src, dst, diff_dst -> diff_src. A NaN or infinity in
// src affects the elements whose windows contain it, and no others; in TensorFlow's way on `eigen`
// it affects all channels of its pixel.
class LrnOp : public Op {
 public:
  static constexpr std::int64_t kMaxChannelsInWindow = 1023;

  // `shape` is (N, C) to (N, C, D, H, W). Throws std::invalid_argument for another rank, extents
  // below 1, a tensor that is too large, a size below 1 or above kMaxChannelsInWindow, an alpha
  // below 0, or a k that is not above 0 (scale must be positive).
  explicit LrnOp(Shape shape, LrnSettings settings = {});

  const Shape& shape() const { return shape_; }
  const LrnSettings& settings() const { return settings_; }
  std::int64_t batch() const { return shape_[0]; }
  std::int64_t channels() const { return shape_[1]; }
  // Number of elements in one channel of one image.
  std::int64_t image() const { return shape_.elements() / (batch() * channels()); }
  // The channels that the window of channel `c` contains.
  LrnWindow WindowOf(std::int64_t c) const {
    return Clipped(c - (settings_.size - 1) / 2, c + settings_.size / 2);
  }
  // The channels whose windows contain `c`.
  LrnWindow WindowsContaining(std::int64_t c) const {
    return Clipped(c - settings_.size / 2, c + (settings_.size - 1) / 2);
  }

  std::string_view kind() const override { return "lrn"; }
  // "8x96x55x55_size5", "8x96x55x55_size5_alpha0.0005_k2"
  std::string Problem() const override;
  std::vector<Operand> Operands(const Execution& execution) const override;
  // No multiply-accumulates, because published totals count none; a power is one operation. Forward
  // 2 size + 4 per element: squares and their sum; product and sum for scale, power, product.
  // Backward size + 7 per element: two products, a division and a power for each term; the sum of
  // the terms; two products and a difference. When it recomputes scale, 2 size + 2 more. Windows
  // contain only channels that exist.
  Arithmetic ArithmeticOf(const Execution& execution) const override;
  std::int64_t AccumulationLength(Pass /*pass*/) const override {
    return std::min(settings_.size, channels()) + 1;
  }

 private:
  LrnWindow Clipped(std::int64_t first, std::int64_t last) const {
    return {std::max<std::int64_t>(first, 0), std::min(last + 1, channels())};
  }

  Shape shape_;
  LrnSettings settings_;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_LRN_LRN_H_
