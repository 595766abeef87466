// The sums that define convolution and its gradients, in double. The reference computes all of
// them. The check of a very large result computes some of them.

#ifndef TOPDNN_KERNELS_CONV_SUMS_H_
#define TOPDNN_KERNELS_CONV_SUMS_H_

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/conv/conv.h"
#include "kernels/op/window.h"

namespace topdnn {

// Works on row-major tensors. A pointer that a sum does not need may be null. Neighbouring elements
// are computed together, because one sum alone waits for each of its additions. The order of the
// terms of a sum does not depend on how many are computed together.
template <typename T>
struct ConvSums {
  ConvExtents e;
  const T* src = nullptr;       // (N, C, H, W)
  const T* weights = nullptr;   // (K, C/G, R, S)
  const T* diff_dst = nullptr;  // (N, K, OH, OW)
  std::int64_t oh = e.oh();
  std::int64_t ow = e.ow();

  // Elements (n, k, y, x), (n, k, y, x + 1), ... of dst, without the epilogue.
  void Forward(std::int64_t n, std::int64_t k, std::int64_t y, std::int64_t x,
               std::span<double> sums) const {
    assert(src != nullptr && weights != nullptr);
    const std::int64_t channels = e.c / e.groups;
    const std::int64_t first = k / (e.k / e.groups) * channels;
    std::ranges::fill(sums, 0);
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t r = 0; r < e.r; ++r) {
        const std::int64_t h = Row(y, r);
        if (h < 0 || h >= e.h) continue;
        for (std::int64_t s = 0; s < e.s; ++s) {
          const auto weight = static_cast<double>(weights[AtWeights(k, c, r, s)]);
          const std::int64_t column = Column(x, s);
          const T* row = &src[AtSrc(n, first + c, h, 0)];
          const auto inside =
              OutputsInside(e.w, static_cast<std::int64_t>(sums.size()), e.stride_w, column);
          for (std::int64_t i = inside.first; i < inside.end; ++i) {
            sums[i] += static_cast<double>(row[column + i * e.stride_w]) * weight;
          }
        }
      }
    }
  }

  // Elements (n, c, h, w), (n, c, h, w + 1), ... of diff_src: the sums over the outputs that these
  // inputs contribute to.
  void BackwardData(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w,
                    std::span<double> sums) const {
    const std::int64_t channels = e.c / e.groups;
    const std::int64_t kernels = e.k / e.groups;
    const std::int64_t group = c / channels;
    std::ranges::fill(sums, 0);
    for (std::int64_t r = 0; r < e.r; ++r) {
      const std::int64_t y = h + e.pad_top - r * e.dilation_h;
      if (y < 0 || y % e.stride_h != 0 || y / e.stride_h >= oh) continue;
      for (std::int64_t s = 0; s < e.s; ++s) {
        const std::int64_t column = Column(0, s) - w;
        const auto inside =
            OutputsInside(static_cast<std::int64_t>(sums.size()), ow, e.stride_w, column);
        for (std::int64_t k = group * kernels; k < (group + 1) * kernels; ++k) {
          const auto weight = static_cast<double>(weights[AtWeights(k, c % channels, r, s)]);
          const T* row = &diff_dst[AtDst(n, k, y / e.stride_h, 0)];
          for (std::int64_t x = inside.first; x < inside.end; ++x) {
            sums[column + x * e.stride_w] += static_cast<double>(row[x]) * weight;
          }
        }
      }
    }
  }

  // Elements (k, c, r, s), (k, c + 1, r, s), ... of diff_weights.
  void BackwardWeights(std::int64_t k, std::int64_t c, std::int64_t r, std::int64_t s,
                       std::span<double> sums) const {
    assert(src != nullptr && diff_dst != nullptr);
    const std::int64_t first = k / (e.k / e.groups) * (e.c / e.groups) + c;
    const auto inside = OutputsInside(e.w, ow, e.stride_w, Column(0, s));
    std::ranges::fill(sums, 0);
    for (std::int64_t n = 0; n < e.n; ++n) {
      for (std::int64_t y = 0; y < oh; ++y) {
        const std::int64_t h = Row(y, r);
        if (h < 0 || h >= e.h) continue;
        const T* row = &diff_dst[AtDst(n, k, y, 0)];
        for (std::int64_t x = inside.first; x < inside.end; ++x) {
          const auto gradient = static_cast<double>(row[x]);
          const T* pixel = &src[AtSrc(n, first, h, Column(x, s))];
          for (std::size_t i = 0; i < sums.size(); ++i) {
            sums[i] +=
                static_cast<double>(pixel[static_cast<std::int64_t>(i) * e.h * e.w]) * gradient;
          }
        }
      }
    }
  }

  // Element (k) of diff_bias.
  double BackwardBias(std::int64_t k) const {
    double sum = 0;
    for (std::int64_t n = 0; n < e.n; ++n) {
      const T* plane = &diff_dst[AtDst(n, k, 0, 0)];
      for (std::int64_t i = 0; i < oh * ow; ++i) sum += static_cast<double>(plane[i]);
    }
    return sum;
  }

  // Row and column of the image that a tap of an output reads.
  std::int64_t Row(std::int64_t y, std::int64_t r) const {
    return y * e.stride_h - e.pad_top + r * e.dilation_h;
  }
  std::int64_t Column(std::int64_t x, std::int64_t s) const {
    return x * e.stride_w - e.pad_left + s * e.dilation_w;
  }

  std::int64_t AtSrc(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) const {
    return ((n * e.c + c) * e.h + h) * e.w + w;
  }
  std::int64_t AtWeights(std::int64_t k, std::int64_t c, std::int64_t r, std::int64_t s) const {
    return ((k * (e.c / e.groups) + c) * e.r + r) * e.s + s;
  }
  std::int64_t AtDst(std::int64_t n, std::int64_t k, std::int64_t y, std::int64_t x) const {
    return ((n * e.k + k) * oh + y) * ow + x;
  }
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_CONV_SUMS_H_
