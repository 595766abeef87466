// Depthwise convolution as direct loops over columns of channels (compare TensorFlow's
// DepthwiseConv2dNative, depthwise_conv_op.cc). Output channel c * M + m reads only input channel
// c.

#include <algorithm>

#include "kernels/eigen/per_isa/epilogue.h"
#include "kernels/eigen/per_isa/pool.h"
#include "kernels/eigen/per_isa/table.h"

namespace topdnn::eigen {

namespace {

// sums (C*M) += source (C) * weights (C*M), where each element of source is used M times.
void Accumulate(Index channels, Index multiplier, const float* source, const float* weights,
                float* sums) {
  if (multiplier == 1) {
    for (Index c = 0; c < channels; ++c) sums[c] += source[c] * weights[c];
    return;
  }
  for (Index c = 0; c < channels; ++c, weights += multiplier, sums += multiplier) {
    for (Index m = 0; m < multiplier; ++m) sums[m] += source[c] * weights[m];
  }
}

// The transpose: sums (C) += gradient (C*M) * weights (C*M), where each M products go to one sum.
void AccumulateBack(Index channels, Index multiplier, const float* gradient, const float* weights,
                    float* sums) {
  if (multiplier == 1) return Accumulate(channels, 1, gradient, weights, sums);
  for (Index c = 0; c < channels; ++c, gradient += multiplier, weights += multiplier) {
    for (Index m = 0; m < multiplier; ++m) sums[c] += gradient[m] * weights[m];
  }
}

// Calls body(tap, h, w) for each kernel tap at output (y, x) that is inside the image.
template <typename Body>
void ForEachTap(const Convolution& conv, Index y, Index x, Body body) {
  for (Index r = 0; r < conv.r; ++r) {
    const Index h = y * conv.stride_h - conv.pad_top + r * conv.dilation_h;
    if (h < 0 || h >= conv.h) continue;
    for (Index s = 0; s < conv.s; ++s) {
      const Index w = x * conv.stride_w - conv.pad_left + s * conv.dilation_w;
      if (w >= 0 && w < conv.w) body(r * conv.s + s, h, w);
    }
  }
}

// Calls body(tap, y, x) for each output that input (h, w) contributes to.
template <typename Body>
void ForEachOutput(const Convolution& conv, Index h, Index w, Body body) {
  for (Index r = 0; r < conv.r; ++r) {
    const Index y = h + conv.pad_top - r * conv.dilation_h;
    if (y < 0 || y % conv.stride_h != 0 || y / conv.stride_h >= conv.oh) continue;
    for (Index s = 0; s < conv.s; ++s) {
      const Index x = w + conv.pad_left - s * conv.dilation_w;
      if (x < 0 || x % conv.stride_w != 0 || x / conv.stride_w >= conv.ow) continue;
      body(r * conv.s + s, y / conv.stride_h, x / conv.stride_w);
    }
  }
}

// Number of multiply-accumulates in a row of outputs.
double WorkOfRow(const Convolution& conv) {
  return static_cast<double>(conv.ow * conv.r * conv.s * conv.k);
}

void DepthwiseForward(Pool* pool, const Convolution& conv, const float* src, const float* weights,
                      const Epilogue& epilogue, float* dst) {
  const double work = WorkOfRow(conv);
  pool->For(conv.n * conv.oh, work, 0.5 * work, [&](Index first, Index end) {
    for (Index i = first * conv.ow; i < end * conv.ow; ++i) {
      const Index row = i / conv.ow;
      const float* image = src + row / conv.oh * conv.h * conv.w * conv.c;
      float* sums = dst + i * conv.k;
      if (epilogue.bias == nullptr) {
        std::fill_n(sums, conv.k, 0.0F);
      } else {
        std::copy_n(epilogue.bias, conv.k, sums);
      }
      ForEachTap(conv, row % conv.oh, i % conv.ow, [&](Index tap, Index h, Index w) {
        Accumulate(conv.c, conv.k / conv.c, image + (h * conv.w + w) * conv.c,
                   weights + tap * conv.k, sums);
      });
      Rectify(epilogue, conv.k, sums);
    }
  });
}

void DepthwiseBackwardData(Pool* pool, const Convolution& conv, const float* diff_dst,
                           const float* weights, float* diff_src) {
  const double work = WorkOfRow(conv) * static_cast<double>(conv.oh) / static_cast<double>(conv.h);
  pool->For(conv.n * conv.h, work, 0.5 * work, [&](Index first, Index end) {
    for (Index i = first * conv.w; i < end * conv.w; ++i) {
      const Index row = i / conv.w;
      const float* image = diff_dst + row / conv.h * conv.oh * conv.ow * conv.k;
      float* sums = diff_src + i * conv.c;
      std::fill_n(sums, conv.c, 0.0F);
      ForEachOutput(conv, row % conv.h, i % conv.w, [&](Index tap, Index y, Index x) {
        AccumulateBack(conv.c, conv.k / conv.c, image + (y * conv.ow + x) * conv.k,
                       weights + tap * conv.k, sums);
      });
    }
  });
}

void DepthwiseBackwardWeights(Pool* pool, const Convolution& conv, const float* src,
                              const float* diff_dst, float* partial, float* diff_weights) {
  const Index rows = conv.n * conv.oh;
  const Index parts = std::min<Index>(pool->device.numThreads(), rows);
  const Index size = conv.r * conv.s * conv.k;
  const double work = WorkOfRow(conv) * static_cast<double>(rows / parts);
  pool->For(parts, work, 0.5 * work, [&](Index first, Index end) {
    for (Index part = first; part < end; ++part) {
      float* sums = partial + part * size;
      std::fill_n(sums, size, 0.0F);
      for (Index i = part * rows / parts * conv.ow; i < (part + 1) * rows / parts * conv.ow; ++i) {
        const Index row = i / conv.ow;
        const float* image = src + row / conv.oh * conv.h * conv.w * conv.c;
        ForEachTap(conv, row % conv.oh, i % conv.ow, [&](Index tap, Index h, Index w) {
          Accumulate(conv.c, conv.k / conv.c, image + (h * conv.w + w) * conv.c,
                     diff_dst + i * conv.k, sums + tap * conv.k);
        });
      }
    }
  });
  std::copy_n(partial, size, diff_weights);
  for (Index part = 1; part < parts; ++part) {
    for (Index i = 0; i < size; ++i) diff_weights[i] += partial[part * size + i];
  }
}

const Entry kDepthwiseForward(&Functions::depthwise_forward, DepthwiseForward);
const Entry kDepthwiseBackwardData(&Functions::depthwise_backward_data, DepthwiseBackwardData);
const Entry kDepthwiseBackwardWeights(&Functions::depthwise_backward_weights,
                                      DepthwiseBackwardWeights);

}  // namespace

}  // namespace topdnn::eigen
