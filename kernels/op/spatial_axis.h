// One axis of a window over an image of one to three spatial dimensions, and its spelling in
// problems: "_kernel3x3_stride1x1_dilation1x1_before0x0_after0x0", one number for each axis.

#ifndef TOPDNN_KERNELS_OP_SPATIAL_AXIS_H_
#define TOPDNN_KERNELS_OP_SPATIAL_AXIS_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/op/problem.h"
#include "kernels/op/window.h"
#include "kernels/tensor/tensor.h"

namespace topdnn {

// Lengths in elements.
struct SpatialAxis {
  std::int64_t extent = 1;  // of the image
  std::int64_t kernel = 1, stride = 1, dilation = 1, pad_before = 0, pad_after = 0;

  // What a window covers, from its first element to its last.
  std::int64_t reach() const { return (kernel - 1) * dilation + 1; }
  // Number of windows inside the padded image.
  std::int64_t outputs() const {
    return OutputExtent(extent, pad_before, pad_after, kernel, stride, dilation);
  }
  // Where the window of output `o` starts, possibly in the padding.
  std::int64_t Start(std::int64_t o) const { return o * stride - pad_before; }

  // Number of elements of the image that so many windows read.
  std::int64_t ElementsReadBy(std::int64_t windows) const {
    return ElementsRead(extent, windows, kernel, stride, pad_before, dilation);
  }
  bool operator==(const SpatialAxis&) const = default;
};

inline constexpr std::size_t kMaxSpatialAxes = 3;

// Throws std::invalid_argument, in one line that begins with the operation, unless there are one to
// three axes, whose numbers are possible and whose window is not larger than the padded image.
void CheckAxes(std::string_view operation, const std::vector<SpatialAxis>& axes);

// The same window over three axes: axes of extent 1 come first.
std::array<SpatialAxis, kMaxSpatialAxes> InThree(const std::vector<SpatialAxis>& axes);

// (N, C), followed by one extent for each axis.
template <typename ExtentOf>
Shape SpatialShape(std::int64_t n, std::int64_t c, const std::vector<SpatialAxis>& axes,
                   ExtentOf extent_of) {
  std::vector<std::int64_t> extents = {n, c};
  for (const SpatialAxis& axis : axes) extents.push_back(extent_of(axis));
  return Shape(std::move(extents));
}

std::string SpellAxes(const std::vector<SpatialAxis>& axes);
// Reads the axes of an image of `shape` (N, C, ...). Throws ProblemError or std::invalid_argument.
std::vector<SpatialAxis> ReadAxes(const ProblemWord& word, const Shape& shape);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_OP_SPATIAL_AXIS_H_
