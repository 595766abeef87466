// Resize of a tensor of any shape by interpolation: the nearest element, linear or cubic, with
// ONNX's choices of coordinates and rounding. Decoders and feature pyramids repeat pixels, which
// has kernels of its own.

#ifndef TOPDNN_KERNELS_INTERPOLATE_INTERPOLATE_H_
#define TOPDNN_KERNELS_INTERPOLATE_INTERPOLATE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/op/op.h"

namespace topdnn {

enum class Interpolation { kNearest, kLinear, kCubic };

// Where index i of the result lies in the source, along an axis of `in` and `out` elements with a
// scale of about out / in. Source: ONNX's Resize, coordinate_transformation_mode.
enum class Coordinates {
  kHalfPixel,         // (i + 0.5) / scale - 0.5
  kPytorchHalfPixel,  // the same, but 0 if out is 1
  kAlignCorners,      // i * (in - 1) / (out - 1), and 0 if out is 1
  kAsymmetric,        // i / scale
  kTfHalfPixel,       // (i + 0.5) / scale
  // As kHalfPixel, but moved so that the centres agree: by in / 2 * (1 - out / (in * scale)).
  kHalfPixelSymmetric,
};

// How the nearest element is chosen: the first two differ halfway between two elements.
enum class NearestRounding { kPreferFloor, kPreferCeil, kFloor, kCeil };

struct InterpolateSettings {
  Interpolation interpolation = Interpolation::kNearest;
  Coordinates coordinates = Coordinates::kHalfPixel;
  NearestRounding rounding = NearestRounding::kPreferFloor;
  float cubic_a = -0.75F;  // coefficient of Keys' cubic convolution
  // Whether elements outside the source have weight 0 and the other weights add to 1. Otherwise an
  // element outside equals the nearest one inside.
  bool exclude_outside = false;

  bool operator==(const InterpolateSettings&) const = default;
};

// The elements that each index of one axis is a sum of: entries [starts[i], starts[i + 1]).
struct AxisWeights {
  std::vector<std::int64_t> starts = {0};
  std::vector<std::int64_t> sources = {};
  std::vector<double> weights = {};

  // The sums of the gradient: each of the `extent` source elements sums the results that read it.
  AxisWeights Transposed(std::int64_t extent) const;
};

// Whole factors by which images become higher and wider.
struct PixelFactors {
  std::int64_t h, w;
};

// Operands: forward src -> dst, the product of the weights of all axes; backward_data diff_dst ->
// diff_src. In int8 only repeated pixels, forward.
class InterpolateOp : public Op {
 public:
  // One scale for each dimension. A dimension whose extent and scale do not change is copied.
  // Throws std::invalid_argument for extents below 1, scalars, shapes of different ranks, and
  // scales that are not positive numbers.
  InterpolateOp(Shape src, Shape dst, std::vector<double> scales, InterpolateSettings settings);

  const Shape& src_shape() const { return src_; }
  const Shape& dst_shape() const { return dst_; }
  const std::vector<double>& scales() const { return scales_; }
  const InterpolateSettings& settings() const { return settings_; }
  // The weights of dimension d of the result.
  AxisWeights WeightsOf(int d) const;
  // The factors if each pixel of images (N, C, H, W) is repeated. For whole factors that is both
  // `asymmetric` with `floor` and `half_pixel` with `round_prefer_floor`: (h + 0.5) / scale - 0.5
  // is nearest to the source's row h / scale, rounded down, and never halfway between two rows.
  // oneDNN's resampling and the nearest upsampling of PyTorch and TensorFlow give the same.
  std::optional<PixelFactors> RepeatedPixels() const;

  std::string_view kind() const override { return "interpolate"; }
  // "linear1x3x4x4_to1x3x8x8_scale1x1x2x2_half"; "_preferfloor" for the nearest element, "_a-0.75"
  // for cubic, "_exclude".
  std::string Problem() const override;
  std::vector<Operand> Operands(const Execution& execution) const override;
  // Two operations per weight of each element of dst; none for the nearest element forward.
  Arithmetic ArithmeticOf(const Execution& execution) const override;
  std::int64_t AccumulationLength(Pass pass) const override;

 private:
  bool Copies(int d) const {
    return src_[d] == dst_[d] && scales_[static_cast<std::size_t>(d)] == 1;
  }
  std::int64_t Taps() const;  // of one element of dst

  Shape src_, dst_;
  std::vector<double> scales_;
  InterpolateSettings settings_;
};

// Repeats each pixel of images (N, C, H, W), in the mode `asymmetric` with `floor`. Throws
// std::invalid_argument as the constructor.
InterpolateOp RepeatPixels(const Shape& src, PixelFactors factors);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_INTERPOLATE_INTERPOLATE_H_
