// Local response normalization across channels: Krizhevsky, Sutskever and Hinton 2012, "ImageNet
// Classification with Deep Convolutional Neural Networks", section 3.3, with alpha divided by the
// window as Caffe, ONNX and oneDNN do (the paper's alpha is alpha / size here).
//
//   dst = src / scale^beta,   scale = k + alpha / size * sum of src^2 over the window
//
// The window of channel c is c - (size - 1) / 2 to c + size / 2, as far as there are such channels.

#ifndef TOPDNN_KERNELS_LRN_LRN_H_
#define TOPDNN_KERNELS_LRN_LRN_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/op.h"

namespace topdnn {

// ONNX's values, but for the size, which has none there. AlexNet: 5, 5e-4, 0.75, 2.
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

// Operands: forward src -> dst, in training also workspace, which holds scale in the loops and what
// oneDNN pleases; backward_data src, workspace, diff_dst -> diff_src. A NaN or infinity of src
// reaches the windows that hold it, and no other element.
class LrnOp : public Op {
 public:
  static constexpr std::int64_t kMostChannelsInWindow = 1023;

  // `shape` (N, C) to (N, C, D, H, W). Throws std::invalid_argument for another rank, extents below
  // 1, a tensor too large, a size below 1 or above kMostChannelsInWindow, an alpha below 0 or a k
  // that is not above 0 (scale must be positive).
  explicit LrnOp(Shape shape, LrnSettings settings = {});

  const Shape& shape() const { return shape_; }
  const LrnSettings& settings() const { return settings_; }
  std::int64_t batch() const { return shape_[0]; }
  std::int64_t channels() const { return shape_[1]; }
  // Elements of one channel of one image.
  std::int64_t image() const { return shape_.elements() / (batch() * channels()); }
  // What channel `c` sums.
  LrnWindow WindowOf(std::int64_t c) const {
    return Clipped(c - (settings_.size - 1) / 2, c + settings_.size / 2);
  }
  // The channels whose windows hold `c`.
  LrnWindow WindowsWith(std::int64_t c) const {
    return Clipped(c - settings_.size / 2, c + (settings_.size - 1) / 2);
  }

  std::string_view kind() const override { return "lrn"; }
  // "8x96x55x55_size5", "8x96x55x55_size5_alpha0.0005_k2"
  std::string Problem() const override;
  std::vector<Operand> Operands(const Execution& execution) const override;
  // No multiply-accumulates, as published totals count none; a power is one operation. Forward
  // 2 size + 4 an element: squares and their sum; product and sum for scale, power, product.
  // Backward size + 7: two products and a division for each term and the power in it; their sum;
  // two products and a difference. Without padding: only channels that are there.
  Work WorkOf(Pass pass, DataType type) const override;
  Work WorkIn(const Execution& execution) const override;
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
