// Depthwise convolution as in TensorFlow 2.5 (depthwise_conv_op.cc, depthwise_conv_grad_op.cc): for
// each position of the result, the values under the kernel's taps are copied to a buffer, and the
// sum over the taps stays in registers. Rows of outputs are shared among threads forward, and
// images backward. In backward_weights, each image adds to a gradient of its own in memory, in
// whole vectors, and one thread adds these up. Output channel c * M + m reads only input channel c.

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

using Packet = Eigen::internal::packet_traits<float>::type;
constexpr Index kLanes = Eigen::internal::packet_traits<float>::size;

// The output channels, rounded up to whole vectors.
Index PaddedChannels(const Convolution& conv) { return (conv.k + kLanes - 1) / kLanes * kLanes; }

// Memory of the device, until the end of the block.
class Buffer {
 public:
  Buffer(const Pool& pool, Index floats)
      : device_(pool.device),
        data_(static_cast<float*>(
            device_.allocate(static_cast<std::size_t>(floats) * sizeof(float)))) {}
  ~Buffer() { device_.deallocate(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  float* data() const { return data_; }

 private:
  const Eigen::ThreadPoolDevice& device_;
  float* data_;
};

// Copies `count` values and fills the row up to `padded` with zeros.
void CopyPadded(const float* from, Index count, Index padded, float* to) {
  std::copy_n(from, count, to);
  std::fill(to + count, to + padded, 0.0F);
}

// to (taps, padded) = weights (taps, K).
void PadWeights(const Convolution& conv, const float* weights, float* to) {
  for (Index tap = 0; tap < conv.r * conv.s; ++tap) {
    CopyPadded(weights + tap * conv.k, conv.k, PaddedChannels(conv),
               to + tap * PaddedChannels(conv));
  }
}

// sums (K) = the sum over the taps of weights (taps, padded) * values (taps, padded).
void SumTaps(const Convolution& conv, const float* weights, const float* values, float* sums) {
  const Index padded = PaddedChannels(conv);
  for (Index i = 0; i < conv.k; i += kLanes) {
    Packet sum = Eigen::internal::pset1<Packet>(0.0F);
    for (Index at = i; at < conv.r * conv.s * padded; at += padded) {
      sum = Eigen::internal::pmadd(Eigen::internal::ploadu<Packet>(weights + at),
                                   Eigen::internal::ploadu<Packet>(values + at), sum);
    }
    if (i + kLanes <= conv.k) {
      Eigen::internal::pstoreu(sums + i, sum);
    } else {
      float lanes[kLanes];
      Eigen::internal::pstoreu(lanes, sum);
      std::copy_n(lanes, conv.k - i, sums + i);
    }
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

// values (taps, padded) = the source under each tap of output (y, x), each channel M times.
void CopyWindow(const Convolution& conv, Index y, Index x, const float* image, float* values) {
  const Index padded = PaddedChannels(conv);
  const Index multiplier = conv.k / conv.c;
  std::fill_n(values, conv.r * conv.s * padded, 0.0F);
  ForEachTap(conv, y, x, [&](Index tap, Index h, Index w) {
    const float* from = image + (h * conv.w + w) * conv.c;
    float* to = values + tap * padded;
    if (multiplier == 1) {
      std::copy_n(from, conv.c, to);
    } else {
      for (Index c = 0; c < conv.c; ++c) std::fill_n(to + c * multiplier, multiplier, from[c]);
    }
  });
}

// values (taps, padded) = the gradient of each output that reads input (h, w), by its tap.
void CopyGradients(const Convolution& conv, Index h, Index w, const float* image, float* values) {
  const Index padded = PaddedChannels(conv);
  std::fill_n(values, conv.r * conv.s * padded, 0.0F);
  ForEachOutput(conv, h, w, [&](Index tap, Index y, Index x) {
    std::copy_n(image + (y * conv.ow + x) * conv.k, conv.k, values + tap * padded);
  });
}

// Number of multiply-accumulates in a row of outputs.
double WorkOfRow(const Convolution& conv) {
  return static_cast<double>(conv.ow * conv.r * conv.s * conv.k);
}

void DepthwiseForward(Pool* pool, const Convolution& conv, const float* src, const float* weights,
                      const Epilogue& epilogue, float* dst) {
  const Index size = conv.r * conv.s * PaddedChannels(conv);
  const Buffer padded(*pool, size);
  PadWeights(conv, weights, padded.data());
  const double cycles = 2.5 * static_cast<double>(conv.ow * conv.k);
  pool->For(conv.n * conv.oh, 0, cycles, [&](Index first, Index end) {
    const Buffer values(*pool, size);
    for (Index i = first * conv.ow; i < end * conv.ow; ++i) {
      const Index row = i / conv.ow;
      const float* image = src + row / conv.oh * conv.h * conv.w * conv.c;
      float* sums = dst + i * conv.k;
      CopyWindow(conv, row % conv.oh, i % conv.ow, image, values.data());
      SumTaps(conv, padded.data(), values.data(), sums);
      if (epilogue.bias != nullptr) {
        for (Index k = 0; k < conv.k; ++k) sums[k] += epilogue.bias[k];
      }
      Rectify(epilogue, conv.k, sums);
    }
  });
}

void DepthwiseBackwardData(Pool* pool, const Convolution& conv, const float* diff_dst,
                           const float* weights, float* diff_src) {
  const Index size = conv.r * conv.s * PaddedChannels(conv);
  const Index multiplier = conv.k / conv.c;
  const Buffer padded(*pool, size);
  PadWeights(conv, weights, padded.data());
  const double cycles = static_cast<double>(conv.h * conv.w * conv.k);
  pool->For(conv.n, 0, cycles, [&](Index first, Index end) {
    const Buffer values(*pool, size);
    const Buffer products(*pool, conv.k);
    for (Index i = first * conv.h * conv.w; i < end * conv.h * conv.w; ++i) {
      const Index row = i / conv.w;
      const float* image = diff_dst + row / conv.h * conv.oh * conv.ow * conv.k;
      float* sums = diff_src + i * conv.c;
      CopyGradients(conv, row % conv.h, i % conv.w, image, values.data());
      if (multiplier == 1) {
        SumTaps(conv, padded.data(), values.data(), sums);
        continue;
      }
      SumTaps(conv, padded.data(), values.data(), products.data());
      for (Index c = 0; c < conv.c; ++c) {
        sums[c] = 0.0F;
        for (Index m = 0; m < multiplier; ++m) sums[c] += products.data()[c * multiplier + m];
      }
    }
  });
}

// sums (taps, padded) += values (taps, padded) * gradient (K). The last vector of the gradient may
// contain values of the next output. They only change the padding of `sums`, which is not used.
// The gradient is not read beyond `end`.
void AddProducts(const Convolution& conv, const float* gradient, const float* end,
                 const float* values, float* sums) {
  const Index padded = PaddedChannels(conv);
  for (Index i = 0; i < padded; i += kLanes) {
    float last[kLanes] = {};
    const float* from = gradient + i;
    if (end - from < kLanes) {
      std::copy(from, end, last);
      from = last;
    }
    const Packet factor = Eigen::internal::ploadu<Packet>(from);
    for (Index tap = 0; tap < conv.r * conv.s; ++tap) {
      const Index at = tap * padded + i;
      const Packet value = Eigen::internal::ploadu<Packet>(values + at);
      const Packet sum = Eigen::internal::ploadu<Packet>(sums + at);
      Eigen::internal::pstoreu(sums + at, Eigen::internal::pmadd(factor, value, sum));
    }
  }
}

void DepthwiseBackwardWeights(Pool* pool, const Convolution& conv, const float* src,
                              const float* diff_dst, float* diff_weights) {
  const Index padded = PaddedChannels(conv);
  const Index taps = conv.r * conv.s;
  const Index size = taps * padded;
  const Index outputs = conv.oh * conv.ow;
  const Buffer gradients(*pool, conv.n * size);  // (N, taps, padded)
  pool->For(conv.n, 0, static_cast<double>(outputs * conv.k), [&](Index first, Index end) {
    const Buffer values(*pool, size);
    for (Index n = first; n < end; ++n) {
      float* sums = gradients.data() + n * size;
      const float* gradient = diff_dst + n * outputs * conv.k;
      std::fill_n(sums, size, 0.0F);
      for (Index i = 0; i < outputs; ++i) {
        CopyWindow(conv, i / conv.ow, i % conv.ow, src + n * conv.h * conv.w * conv.c,
                   values.data());
        AddProducts(conv, gradient + i * conv.k, gradient + outputs * conv.k, values.data(), sums);
      }
    }
  });
  for (Index tap = 0; tap < taps; ++tap) {
    float* sums = diff_weights + tap * conv.k;
    std::fill_n(sums, conv.k, 0.0F);
    for (Index n = 0; n < conv.n; ++n) {
      const float* of_image = gradients.data() + n * size + tap * padded;
      for (Index k = 0; k < conv.k; ++k) sums[k] += of_image[k];
    }
  }
}

// Ours: each thread adds the taps of its rows of outputs to a gradient of its own.
void DepthwiseBackwardWeightsRows(Pool* pool, const Convolution& conv, const float* src,
                                  const float* diff_dst, float* partial, float* diff_weights) {
  const Index rows = conv.n * conv.oh;
  const Index parts = std::min<Index>(pool->device.numThreads(), rows);
  const Index size = conv.r * conv.s * conv.k;
  const double work = WorkOfRow(conv) * static_cast<double>(rows) / static_cast<double>(parts);
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
const Entry kDepthwiseBackwardWeightsRows(&Functions::depthwise_backward_weights_rows,
                                          DepthwiseBackwardWeightsRows);

}  // namespace

}  // namespace topdnn::eigen
