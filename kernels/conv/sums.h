// The sums that define convolution and its gradients, each for one element of the result, in
// double. The reference computes all of them. The check of a very large result computes some of
// them.

#ifndef TOPDNN_KERNELS_CONV_SUMS_H_
#define TOPDNN_KERNELS_CONV_SUMS_H_

#include <cassert>
#include <cstdint>

#include "kernels/conv/conv.h"

namespace topdnn {

// Works on row-major tensors. A pointer that a sum does not need may be null.
template <typename T>
struct ConvSums {
  ConvExtents e;
  const T* src = nullptr;       // (N, C, H, W)
  const T* weights = nullptr;   // (K, C/G, R, S)
  const T* diff_dst = nullptr;  // (N, K, OH, OW)
  std::int64_t oh = e.oh();
  std::int64_t ow = e.ow();

  // Element (n, k, y, x) of dst, without the epilogue.
  double Forward(std::int64_t n, std::int64_t k, std::int64_t y, std::int64_t x) const {
    assert(src != nullptr && weights != nullptr);
    const std::int64_t channels = e.c / e.groups;
    const std::int64_t first = k / (e.k / e.groups) * channels;
    double sum = 0;
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t r = 0; r < e.r; ++r) {
        const std::int64_t h = Row(y, r);
        if (h < 0 || h >= e.h) continue;
        for (std::int64_t s = 0; s < e.s; ++s) {
          const std::int64_t w = Column(x, s);
          if (w < 0 || w >= e.w) continue;
          sum += static_cast<double>(src[AtSrc(n, first + c, h, w)]) *
                 static_cast<double>(weights[AtWeights(k, c, r, s)]);
        }
      }
    }
    return sum;
  }

  // Element (n, c, h, w) of diff_src: the sum over the outputs that this input contributes to.
  double BackwardData(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) const {
    const std::int64_t channels = e.c / e.groups;
    const std::int64_t kernels = e.k / e.groups;
    const std::int64_t group = c / channels;
    double sum = 0;
    for (std::int64_t r = 0; r < e.r; ++r) {
      const std::int64_t y = h + e.pad_top - r * e.dilation_h;
      if (y < 0 || y % e.stride_h != 0 || y / e.stride_h >= oh) continue;
      for (std::int64_t s = 0; s < e.s; ++s) {
        const std::int64_t x = w + e.pad_left - s * e.dilation_w;
        if (x < 0 || x % e.stride_w != 0 || x / e.stride_w >= ow) continue;
        for (std::int64_t k = group * kernels; k < (group + 1) * kernels; ++k) {
          sum += static_cast<double>(diff_dst[AtDst(n, k, y / e.stride_h, x / e.stride_w)]) *
                 static_cast<double>(weights[AtWeights(k, c % channels, r, s)]);
        }
      }
    }
    return sum;
  }

  // Element (k, c, r, s) of diff_weights.
  double BackwardWeights(std::int64_t k, std::int64_t c, std::int64_t r, std::int64_t s) const {
    const std::int64_t first = k / (e.k / e.groups) * (e.c / e.groups);
    assert(src != nullptr && diff_dst != nullptr);
    double sum = 0;
    for (std::int64_t n = 0; n < e.n; ++n) {
      for (std::int64_t y = 0; y < oh; ++y) {
        const std::int64_t h = Row(y, r);
        if (h < 0 || h >= e.h) continue;
        for (std::int64_t x = 0; x < ow; ++x) {
          const std::int64_t w = Column(x, s);
          if (w < 0 || w >= e.w) continue;
          sum += static_cast<double>(src[AtSrc(n, first + c, h, w)]) *
                 static_cast<double>(diff_dst[AtDst(n, k, y, x)]);
        }
      }
    }
    return sum;
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
