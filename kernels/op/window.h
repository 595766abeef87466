// The arithmetic of a sliding window (convolution, pooling) along one axis of an image. Output o of
// the axis reads the elements o * stride - pad_before + tap * dilation, for each tap of the kernel.
// All lengths are in elements.

#ifndef TOPDNN_KERNELS_OP_WINDOW_H_
#define TOPDNN_KERNELS_OP_WINDOW_H_

#include <algorithm>
#include <cstdint>

namespace topdnn {

// Number of outputs when every window lies inside the padded image.
inline std::int64_t OutputExtent(std::int64_t input, std::int64_t pad_before,
                                 std::int64_t pad_after, std::int64_t kernel, std::int64_t stride,
                                 std::int64_t dilation = 1) {
  return (input + pad_before + pad_after - ((kernel - 1) * dilation + 1)) / stride + 1;
}

// Outputs [first, end) of an axis.
struct OutputRange {
  std::int64_t first, end;
};

// The outputs for which one tap reads inside the image: 0 <= o * stride + offset < input. `offset`
// is tap * dilation - pad_before. The range is empty (first == end) when there is none.
inline OutputRange OutputsInside(std::int64_t input, std::int64_t outputs, std::int64_t stride,
                                 std::int64_t offset) {
  if (stride == 1) {  // without divisions, which take longer than the few products of a tap
    const std::int64_t first = std::min(std::max<std::int64_t>(-offset, 0), outputs);
    return {first, std::clamp(input - offset, first, outputs)};
  }
  const std::int64_t first = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
  const std::int64_t end = input - offset <= 0 ? 0 : (input - offset - 1) / stride + 1;
  return {std::min(first, outputs), std::clamp(end, std::min(first, outputs), outputs)};
}

// Number of pairs (tap, output) that read inside the image. The other pairs read padding.
inline std::int64_t TapsInside(std::int64_t input, std::int64_t outputs, std::int64_t kernel,
                               std::int64_t stride, std::int64_t pad_before,
                               std::int64_t dilation = 1) {
  std::int64_t taps = 0;
  for (std::int64_t t = 0; t < kernel; ++t) {
    const OutputRange inside = OutputsInside(input, outputs, stride, t * dilation - pad_before);
    taps += inside.end - inside.first;
  }
  return taps;
}

// Number of elements of the image that windows read: all but the gaps between windows and what
// follows the last one. With a dilation it may be too large, because two taps may read the same.
inline std::int64_t ElementsRead(std::int64_t input, std::int64_t outputs, std::int64_t kernel,
                                 std::int64_t stride, std::int64_t pad_before,
                                 std::int64_t dilation = 1) {
  const std::int64_t end = (outputs - 1) * stride - pad_before + (kernel - 1) * dilation + 1;
  return std::min({input, std::max<std::int64_t>(end, 0),
                   TapsInside(input, outputs, kernel, stride, pad_before, dilation)});
}

// The part of an axis that one dense window covers.
struct AxisWindow {
  std::int64_t first, end;  // elements of the image
  std::int64_t padded;      // number of elements, including padding
};

// The window of output `o`. A window that ends beyond the trailing padding is cut off there.
inline AxisWindow WindowOf(std::int64_t o, std::int64_t input, std::int64_t kernel,
                           std::int64_t stride, std::int64_t pad_before, std::int64_t pad_after) {
  const std::int64_t start = o * stride - pad_before;
  const std::int64_t end = std::min(start + kernel, input + pad_after);
  return {std::max<std::int64_t>(start, 0), std::min(end, input), end - start};
}

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_OP_WINDOW_H_
