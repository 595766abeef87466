// The table of functions that a library of Eigen code exports.
//
// Eigen chooses its vector instructions at compile time. Therefore its code is compiled once per
// ISA, each time into a shared library that exports one symbol (kernels/eigen/per_isa/,
// kernels/eigen/CMakeLists.txt). A library and the program share only this header and operands.h.
// Every function returns when its work is finished. To add one: an entry here, and its code in a
// file of per_isa/.

#ifndef TOPDNN_KERNELS_EIGEN_FUNCTIONS_H_
#define TOPDNN_KERNELS_EIGEN_FUNCTIONS_H_

#include <cstdint>

#include "kernels/eigen/operands.h"

namespace topdnn::eigen {

using FailureRecorder = void (*)(const char* call, int status) noexcept;

struct Functions {
  const char* isa;          // in the spelling of Kernel::isa()
  const char* contraction;  // the code that multiplies packed panels: "gebp", "sgemm"
  const char* version;      // version of Eigen

  // Sets the function that records a call which fails while a kernel runs
  // (kernels/kernel/run_failure.h). The library cannot link to that function, because the program
  // is not a library. Call it before any kernel runs.
  void (*set_failure_recorder)(FailureRecorder record);

  // Makes a pool of `threads` threads in addition to the caller's, like TensorFlow's intra-op pool.
  Pool* (*make_pool)(int threads);
  void (*release_pool)(Pool* pool);

  // Calls body(context, first, end) for ranges that cover [0, n), on the threads of the pool if the
  // cost of an index, `bytes` of memory traffic and `cycles` of work, makes that faster.
  void (*for_ranges)(Pool* pool, std::int64_t n, double bytes, double cycles,
                     void (*body)(const void* context, std::int64_t first, std::int64_t end),
                     const void* context);

  void (*matmul)(Pool* pool, const MatMul& product);
  // dst (N, OH, OW, K): image patches contracted with the weights, then the epilogue. The patches
  // are not stored (implicit im2col).
  void (*conv_forward)(Pool* pool, const Convolution& conv, const float* src, const float* weights,
                       const Epilogue& epilogue, float* dst);
  // diff_weights, summed over shards of `images` images; `col` holds (images*OH*OW, R*S*C).
  void (*conv_backward_weights)(Pool* pool, const Convolution& conv, const float* src,
                                const float* diff_dst, std::int64_t images, float* col,
                                float* diff_weights);
  // diff_src, by shards of `images` images. With `shares_product`: image by image (`images` is 1),
  // and all threads share each product. Otherwise the threads take images of the shard and compute
  // their products alone. `col` holds (images, OH*OW, R*S*C).
  void (*conv_backward_data)(Pool* pool, const Convolution& conv, const float* diff_dst,
                             const float* weights, std::int64_t images, bool shares_product,
                             float* col, float* diff_src);
  // Depthwise: each input channel gives k / c output channels by itself; weights (R, S, K).
  void (*depthwise_forward)(Pool* pool, const Convolution& conv, const float* src,
                            const float* weights, const Epilogue& epilogue, float* dst);
  void (*depthwise_backward_data)(Pool* pool, const Convolution& conv, const float* diff_dst,
                                  const float* weights, float* diff_src);
  void (*depthwise_backward_weights)(Pool* pool, const Convolution& conv, const float* src,
                                     const float* diff_dst, float* diff_weights);
  // The same, with rows of outputs shared among the threads; `partial` holds (threads, R*S*K).
  void (*depthwise_backward_weights_rows)(Pool* pool, const Convolution& conv, const float* src,
                                          const float* diff_dst, float* partial,
                                          float* diff_weights);
  // dst (C) = sums of the columns of src (rows, C); `partial` holds (threads, C).
  void (*column_sums)(Pool* pool, std::int64_t rows, std::int64_t columns, const float* src,
                      float* partial, float* dst);

  void (*max_pool)(Pool* pool, const Pooling& pooling, const float* src, float* dst);
  // Finds the maxima again: the scratch arrays `maxima` and `places` hold (N, OH, OW, C).
  void (*max_pool_backward)(Pool* pool, const Pooling& pooling, const float* src,
                            const float* diff_dst, float* maxima, std::int64_t* places,
                            float* diff_src);
  // Max pooling with rows of outputs (backward: of inputs) shared among the threads. `winners`
  // (N, OH, OW, C) holds the number of each maximum in its window; it may be null forward.
  void (*max_pool_rows)(Pool* pool, const Pooling& pooling, const float* src, float* dst,
                        std::int32_t* winners);
  void (*max_pool_rows_backward)(Pool* pool, const Pooling& pooling, const float* diff_dst,
                                 const std::int32_t* winners, float* diff_src);
  void (*average_pool)(Pool* pool, const Pooling& pooling, const float* src, float* dst);
  void (*average_pool_backward)(Pool* pool, const Pooling& pooling, const float* diff_dst,
                                float* diff_src);

  // Training: computes mean and variance of src, then dst. Inference: computes dst with the given
  // mean and variance. dst may be src.
  void (*batchnorm_training)(Pool* pool, const BatchNorm& norm, const float* src, float* dst);
  void (*batchnorm_inference)(Pool* pool, const BatchNorm& norm, const float* src, float* dst);
  // diff_src may be diff_dst.
  void (*batchnorm_backward)(Pool* pool, const BatchNorm& norm, const float* src,
                             const float* diff_dst, float* diff_src, float* diff_scale,
                             float* diff_shift);
  // Local response normalization: squares times a band matrix, which `norm.scratch` (C, C) holds.
  // Backward computes the scale again and needs no scratch memory.
  void (*lrn)(Pool* pool, const ResponseNorm& norm, const float* src, float* dst);
  void (*lrn_backward)(Pool* pool, const ResponseNorm& norm, const float* src, const float* dst,
                       const float* diff_dst, float* diff_src);
  // The same normalization, row by row. Forward writes `scale` (rows, C) for the backward pass;
  // there it may be null. `norm.scratch` holds (2 * threads, C).
  void (*lrn_rows)(Pool* pool, const ResponseNorm& norm, const float* src, float* dst,
                   float* scale);
  void (*lrn_rows_backward)(Pool* pool, const ResponseNorm& norm, const float* src,
                            const float* scale, const float* diff_dst, float* diff_src);
  // dst = momentum * dst + (1 - momentum) * src.
  void (*moving_average)(Pool* pool, std::int64_t n, float momentum, const float* src, float* dst);

  // Flat tensors. dst may be src, and diff_src may be diff_dst.
  void (*activate)(Pool* pool, const Activation& activation, std::int64_t n, const float* src,
                   float* dst);
  void (*activate_backward)(Pool* pool, const Activation& activation, std::int64_t n,
                            const float* diff_dst, const float* dst, float* diff_src);
  // dst = the sum of `sources` (2 or more) flat tensors, then a ReLU if `relu`. dst may be src[0].
  void (*add)(Pool* pool, std::int64_t n, std::int64_t sources, const float* const* src, bool relu,
              float* dst);
  // dst (rows, C) = src + bias (C), added to each row. dst may be src.
  void (*add_bias)(Pool* pool, std::int64_t rows, std::int64_t channels, const float* src,
                   const float* bias, float* dst);
  // Copies rows of `length` elements. Consecutive rows begin one stride apart.
  void (*copy_rows)(Pool* pool, std::int64_t rows, std::int64_t length, const float* src,
                    std::int64_t src_stride, float* dst, std::int64_t dst_stride);
  // dst holds the kept dimensions: (outer, inner), or (middle).
  void (*sum)(Pool* pool, const Reduction& reduction, const float* src, float* dst);
  // The gradient of sum: divides each element of diff_dst by the divisor, and copies it to all
  // elements that its sum added.
  void (*sum_backward)(Pool* pool, const Reduction& reduction, const float* diff_dst,
                       float* diff_src);
  // All tensors are (batch, classes).
  void (*softmax)(Pool* pool, std::int64_t batch, std::int64_t classes, const float* src,
                  float* dst);
  void (*softmax_backward)(Pool* pool, std::int64_t batch, std::int64_t classes,
                           const float* diff_dst, const float* dst, float* diff_src);
  // src (batch, classes), labels (batch) in [0, classes), losses (batch), one per image. diff_src
  // is the gradient of their mean; it may be null.
  void (*cross_entropy)(Pool* pool, std::int64_t batch, std::int64_t classes, const float* src,
                        const std::int32_t* labels, float* losses, float* diff_src);
  // dst is src (extents) permuted: dimension i of dst is dimension order[i] of src.
  void (*shuffle)(Pool* pool, const std::int64_t extents[4], const int order[4], const float* src,
                  float* dst);
  // Images (N*H, W, C): `rows` is N*H. Repeats each pixel scale_h times downwards and scale_w
  // times sideways; backward sums over these copies.
  void (*resize)(Pool* pool, std::int64_t rows, std::int64_t width, std::int64_t channels,
                 std::int64_t scale_h, std::int64_t scale_w, const float* src, float* dst);
  void (*resize_backward)(Pool* pool, std::int64_t rows, std::int64_t width, std::int64_t channels,
                          std::int64_t scale_h, std::int64_t scale_w, const float* diff_dst,
                          float* diff_src);
  // Updates as defined in kernels/sgd/. `keep` is SGD's setting of momentum, `momentum` its state
  // (null: without momentum).
  void (*sgd)(Pool* pool, std::int64_t n, float rate, float keep, float weight_decay,
              const float* gradient, float* weights, float* momentum);
  void (*adam)(Pool* pool, std::int64_t n, const Adam& settings, const float* gradient,
               float* weights, float* momentum, float* second_moment);
};

}  // namespace topdnn::eigen

// The only symbol that a library exports.
extern "C" const topdnn::eigen::Functions* topdnn_eigen_functions();

#endif  // TOPDNN_KERNELS_EIGEN_FUNCTIONS_H_
