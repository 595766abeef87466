// Nearest-neighbour resize of images (N, H, W, C) by whole factors. As in TensorFlow's
// ResizeNearestNeighbor, all channels of a pixel are copied at a time.

#include <algorithm>

#include "kernels/eigen/per_isa/pool.h"
#include "kernels/eigen/per_isa/table.h"

namespace topdnn::eigen {

namespace {

void Resize(Pool* pool, std::int64_t rows, std::int64_t width, std::int64_t channels,
            std::int64_t scale_h, std::int64_t scale_w, const float* src, float* dst) {
  const Index length = width * scale_w * channels;
  const auto elements = static_cast<double>(length);
  pool->For(rows * scale_h, 8 * elements, 0.5 * elements, [&](Index first, Index end) {
    for (Index row = first; row < end; ++row) {
      const float* from = src + row / scale_h * width * channels;
      float* to = dst + row * length;
      for (Index col = 0; col < width * scale_w; ++col) {
        std::copy_n(from + col / scale_w * channels, channels, to + col * channels);
      }
    }
  });
}

void ResizeBackward(Pool* pool, std::int64_t rows, std::int64_t width, std::int64_t channels,
                    std::int64_t scale_h, std::int64_t scale_w, const float* diff_dst,
                    float* diff_src) {
  using Pixel = Eigen::Map<Eigen::ArrayXf>;
  using ConstPixel = Eigen::Map<const Eigen::ArrayXf>;
  const Index length = width * scale_w * channels;
  const auto elements = static_cast<double>(length * scale_h);
  pool->For(rows, 8 * elements, 0.5 * elements, [&](Index first, Index end) {
    for (Index i = first * width; i < end * width; ++i) {
      Pixel sum(diff_src + i * channels, channels);
      sum.setZero();
      const float* corner =
          diff_dst + i / width * scale_h * length + i % width * scale_w * channels;
      for (Index row = 0; row < scale_h; ++row) {
        for (Index col = 0; col < scale_w; ++col) {
          sum += ConstPixel(corner + row * length + col * channels, channels);
        }
      }
    }
  });
}

const Entry kResize(&Functions::resize, Resize);
const Entry kResizeBackward(&Functions::resize_backward, ResizeBackward);

}  // namespace

}  // namespace topdnn::eigen
