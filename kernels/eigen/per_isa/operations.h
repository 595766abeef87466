// The functions of the table that a library exports (kernels/eigen/functions.h), by file. Products
// have their own header.

#ifndef TOPDNN_KERNELS_EIGEN_PER_ISA_OPERATIONS_H_
#define TOPDNN_KERNELS_EIGEN_PER_ISA_OPERATIONS_H_

#include <cstdint>

#include "kernels/eigen/operands.h"

namespace topdnn::eigen {

// pool.cc
Pool* MakePool(int threads);
void ReleasePool(Pool* pool);

// depthwise.cc
void DepthwiseForward(Pool* pool, const Convolution& conv, const float* src, const float* weights,
                      const Epilogue& epilogue, float* dst);
void DepthwiseBackwardData(Pool* pool, const Convolution& conv, const float* diff_dst,
                           const float* weights, float* diff_src);
void DepthwiseBackwardWeights(Pool* pool, const Convolution& conv, const float* src,
                              const float* diff_dst, float* partial, float* diff_weights);

// reduction.cc
void ColumnSums(Pool* pool, std::int64_t rows, std::int64_t columns, const float* src,
                float* partial, float* dst);
void Sum(Pool* pool, const Reduction& reduction, const float* src, float* dst);
void SumBackward(Pool* pool, const Reduction& reduction, const float* diff_dst, float* diff_src);

// pooling.cc
void MaxPool(Pool* pool, const Pooling& pooling, const float* src, float* dst,
             std::int32_t* winners);
void MaxPoolBackward(Pool* pool, const Pooling& pooling, const float* diff_dst,
                     const std::int32_t* winners, float* diff_src);
void AveragePool(Pool* pool, const Pooling& pooling, const float* src, float* dst);
void AveragePoolBackward(Pool* pool, const Pooling& pooling, const float* diff_dst,
                         float* diff_src);

// normalization.cc
void BatchNormTraining(Pool* pool, const BatchNorm& norm, const float* src, float* dst);
void BatchNormInference(Pool* pool, const BatchNorm& norm, const float* src, float* dst);
void BatchNormBackward(Pool* pool, const BatchNorm& norm, const float* src, const float* diff_dst,
                       float* diff_src, float* diff_scale, float* diff_shift);
void MovingAverage(Pool* pool, std::int64_t n, float momentum, const float* src, float* dst);

// response_normalization.cc
void NormalizeResponses(Pool* pool, const ResponseNorm& norm, const float* src, float* dst,
                        float* scale);
void NormalizeResponsesBackward(Pool* pool, const ResponseNorm& norm, const float* src,
                                const float* scale, const float* diff_dst, float* diff_src);

// activation.cc
void Activate(Pool* pool, const Activation& activation, std::int64_t n, const float* src,
              float* dst);
void ActivateBackward(Pool* pool, const Activation& activation, std::int64_t n,
                      const float* diff_dst, const float* dst, float* diff_src);

// combination.cc
void Add(Pool* pool, std::int64_t n, std::int64_t sources, const float* const* src, bool relu,
         float* dst);
void AddBias(Pool* pool, std::int64_t rows, std::int64_t channels, const float* src,
             const float* bias, float* dst);
void CopyRows(Pool* pool, std::int64_t rows, std::int64_t length, const float* src,
              std::int64_t src_stride, float* dst, std::int64_t dst_stride);

// softmax.cc
void Softmax(Pool* pool, std::int64_t batch, std::int64_t classes, const float* src, float* dst);
void SoftmaxBackward(Pool* pool, std::int64_t batch, std::int64_t classes, const float* diff_dst,
                     const float* dst, float* diff_src);
void CrossEntropy(Pool* pool, std::int64_t batch, std::int64_t classes, const float* src,
                  const std::int32_t* labels, float* losses, float* diff_src);

// shuffle.cc
void Shuffle(Pool* pool, const std::int64_t extents[4], const int order[4], const float* src,
             float* dst);

// resize.cc
void Resize(Pool* pool, std::int64_t rows, std::int64_t width, std::int64_t channels,
            std::int64_t scale_h, std::int64_t scale_w, const float* src, float* dst);
void ResizeBackward(Pool* pool, std::int64_t rows, std::int64_t width, std::int64_t channels,
                    std::int64_t scale_h, std::int64_t scale_w, const float* diff_dst,
                    float* diff_src);

// update.cc
void UpdateBySgd(Pool* pool, std::int64_t n, float rate, float keep, float weight_decay,
                 const float* gradient, float* weights, float* momentum);
void UpdateByAdam(Pool* pool, std::int64_t n, const Adam& settings, const float* gradient,
                  float* weights, float* momentum, float* second_moment);

}  // namespace topdnn::eigen

#endif  // TOPDNN_KERNELS_EIGEN_PER_ISA_OPERATIONS_H_
