// Resize of images by whole factors; each pixel is a copy of the nearest source pixel. Feature
// pyramids and decoders upsample this way.

#ifndef TOPDNN_KERNELS_RESIZE_RESIZE_H_
#define TOPDNN_KERNELS_RESIZE_RESIZE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/op/op.h"

namespace topdnn {

// Operands: forward src (N, C, H, W) -> dst (N, C, H*scale_h, W*scale_w), whose pixel (h, w) is
// src's (h / scale_h, w / scale_w), rounded down; backward_data diff_dst -> diff_src, the sum over
// the copies of each pixel.
//
// For whole factors this is ONNX's Resize in mode nearest, both as `asymmetric` with `floor` and as
// `half_pixel` with `round_prefer_floor`: (h + 0.5) / scale - 0.5 is nearest to the source's row h
// / scale, and never halfway between two rows. oneDNN's resampling and the nearest upsampling of
// PyTorch and TensorFlow give the same.
class ResizeOp : public Op {
 public:
  // Throws std::invalid_argument unless src is an image with extents of 1 or more and the factors
  // are 1 or more.
  ResizeOp(Shape src, std::int64_t scale_h, std::int64_t scale_w);

  const Shape& src_shape() const { return src_; }
  const Shape& dst_shape() const { return dst_; }
  std::int64_t scale_h() const { return scale_h_; }
  std::int64_t scale_w() const { return scale_w_; }

  std::string_view kind() const override { return "resize"; }
  std::string Problem() const override;  // "8x64x14x14_scale2x2"
  std::vector<Operand> Operands(const Execution& execution) const override;
  // Forward: no arithmetic. Backward: one addition per element of diff_dst.
  Arithmetic ArithmeticOf(const Execution& execution) const override;
  std::int64_t AccumulationLength(Pass pass) const override {
    return pass == Pass::kForward ? 0 : scale_h_ * scale_w_;
  }

 private:
  Shape src_;
  std::int64_t scale_h_, scale_w_;
  Shape dst_;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_RESIZE_RESIZE_H_
