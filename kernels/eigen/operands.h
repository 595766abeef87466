// The arguments of the functions in a library of Eigen code: extents and pointers, with the names
// of the operations in kernels/. They use no types of Eigen.
//
// Activations are (N, H, W, C) in memory, convolution weights (R, S, C, K): TensorFlow's NHWC and
// HWIO. Matrices are row-major.

#ifndef TOPDNN_KERNELS_EIGEN_OPERANDS_H_
#define TOPDNN_KERNELS_EIGEN_OPERANDS_H_

#include <cstdint>

namespace topdnn::eigen {

// Threads and recycled memory. Its contents are private to the library.
struct Pool;

// Applied to the sums of a product: bias along the columns, then ReLU.
struct Epilogue {
  const float* bias = nullptr;  // (n); none when null
  bool relu = false;
  float bound = 0.0F;  // bound of the ReLU; 0: none
};

// c (m, n) = alpha * a (m, k) * b (k, n) + beta * c; a and b may be stored transposed.
struct MatMul {
  std::int64_t m, n, k;
  bool transpose_a = false, transpose_b = false;
  const float* a;
  const float* b;
  float* c;
  float alpha = 1.0F, beta = 0.0F;
  Epilogue epilogue = {};  // requires beta 0
};

// A convolution without groups, or a depthwise one. Named as in ConvExtents.
struct Convolution {
  std::int64_t n, c, h, w;
  std::int64_t k, r, s;
  std::int64_t stride_h, stride_w;
  std::int64_t pad_top, pad_left, pad_bottom, pad_right;
  std::int64_t dilation_h, dilation_w;
  std::int64_t oh, ow;
};

// Indices [first, end).
struct Range {
  std::int64_t first, end;
};

// A pooling. The caller applies the rules of windows and padding and passes the resulting ranges.
struct Pooling {
  std::int64_t n, c, h, w, oh, ow;
  // Window (oh, ow) starts at element (oh * stride_h - pad_top, ...). Element (r, s) of a window
  // has the number r * S + s.
  std::int64_t r, s, stride_h, stride_w, pad_top, pad_left;
  const Range* rows;      // (OH): the image's rows that a window covers
  const Range* cols;      // (OW)
  const Range* row_outs;  // (H): the outputs whose windows cover a row
  const Range* col_outs;  // (W)
  const float* divisors;  // (OH, OW): divisors of averages
};

// An element-wise function whose gradient is computed from its result.
struct Activation {
  enum class Function {
    kRelu,
    kClip,  // clipped to lowest..highest
    kSigmoid,
    kHardSigmoid,  // alpha * src + beta, clipped to 0..1
  };
  Function function;
  float lowest = 0.0F, highest = 0.0F;
  float alpha = 0.0F, beta = 0.0F;
};

// Sums of a tensor over some of its dimensions. Dimensions that are adjacent in memory are merged.
// The sum is over `middle` of (outer, middle, inner), or over outer and inner.
struct Reduction {
  std::int64_t outer = 1, middle = 1, inner = 1;
  bool keeps_middle = false;
  float divisor = 1.0F;  // divides each sum; 1: none
};

struct Adam {
  float rate, beta1, beta2, epsilon, weight_decay;
};

// A batch normalization over rows (N*H*W) of channels.
struct BatchNorm {
  std::int64_t rows, channels;
  float epsilon;
  bool relu;
  float* mean;      // (C)
  float* variance;  // (C), divided by the number of rows
  const float* scale;
  const float* shift;    // null in the backward pass
  std::uint8_t* passed;  // (rows, C): 1 where a ReLU passes the value; may be null
  float* scratch;        // (2 * threads + 2, C)
};

// A local response normalization over rows (N*H*W) of channels. A window reaches from `before`
// channels before a channel to `after` channels after it. `alpha` is the factor of one term.
struct ResponseNorm {
  std::int64_t rows, channels, before, after;
  float alpha, beta, k;
  float* scratch;
};

}  // namespace topdnn::eigen

#endif  // TOPDNN_KERNELS_EIGEN_OPERANDS_H_
