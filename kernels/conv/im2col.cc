#include "kernels/conv/im2col.h"

#include <algorithm>

#include "kernels/op/window.h"

namespace topdnn {

bool ColIsImage(const ConvExtents& e) {
  return e.r == 1 && e.s == 1 && e.stride_h == 1 && e.stride_w == 1 && e.pad_top == 0 &&
         e.pad_left == 0 && e.pad_bottom == 0 && e.pad_right == 0;
}

void Im2Col(const ConvExtents& e, bool parallel, const float* image, float* col) {
  const std::int64_t oh = e.oh();
  const std::int64_t ow = e.ow();
#pragma omp parallel for if (parallel)
  for (std::int64_t c = 0; c < e.c; ++c) {
    float* row = col + c * e.r * e.s * oh * ow;
    for (std::int64_t r = 0; r < e.r; ++r) {
      const std::int64_t h_offset = r * e.dilation_h - e.pad_top;
      for (std::int64_t s = 0; s < e.s; ++s, row += oh * ow) {
        const std::int64_t w_offset = s * e.dilation_w - e.pad_left;
        const OutputRange inside = OutputsInside(e.w, ow, e.stride_w, w_offset);
        for (std::int64_t y = 0; y < oh; ++y) {
          float* out = row + y * ow;
          const std::int64_t h = y * e.stride_h + h_offset;
          if (h < 0 || h >= e.h) {
            std::fill_n(out, ow, 0.0F);
            continue;
          }
          const float* in = image + (c * e.h + h) * e.w + w_offset;
          std::fill_n(out, inside.first, 0.0F);
          for (std::int64_t x = inside.first; x < inside.end; ++x) out[x] = in[x * e.stride_w];
          std::fill(out + inside.end, out + ow, 0.0F);
        }
      }
    }
  }
}

void Col2Im(const ConvExtents& e, bool parallel, const float* col, float* image) {
  const std::int64_t oh = e.oh();
  const std::int64_t ow = e.ow();
#pragma omp parallel for if (parallel)
  for (std::int64_t c = 0; c < e.c; ++c) {
    float* plane = image + c * e.h * e.w;
    std::fill_n(plane, e.h * e.w, 0.0F);
    const float* row = col + c * e.r * e.s * oh * ow;
    for (std::int64_t r = 0; r < e.r; ++r) {
      const std::int64_t h_offset = r * e.dilation_h - e.pad_top;
      for (std::int64_t s = 0; s < e.s; ++s, row += oh * ow) {
        const std::int64_t w_offset = s * e.dilation_w - e.pad_left;
        const OutputRange inside = OutputsInside(e.w, ow, e.stride_w, w_offset);
        for (std::int64_t y = 0; y < oh; ++y) {
          const std::int64_t h = y * e.stride_h + h_offset;
          if (h < 0 || h >= e.h) continue;
          float* out = plane + h * e.w + w_offset;
          const float* in = row + y * ow;
          for (std::int64_t x = inside.first; x < inside.end; ++x) out[x * e.stride_w] += in[x];
        }
      }
    }
  }
}

}  // namespace topdnn
