// The table that this library exports.
//
// (The text macros expand EIGEN_WORLD_VERSION and similar macros before turning them into text.)

#include "kernels/eigen/functions.h"
#include "kernels/eigen/per_isa/operations.h"
#include "kernels/eigen/per_isa/products.h"
#include "kernels/eigen/per_isa/tensor.h"

#define TOPDNN_TEXT(x) #x
#define TOPDNN_VERSION(world, major, minor) \
  TOPDNN_TEXT(world) "." TOPDNN_TEXT(major) "." TOPDNN_TEXT(minor)

__attribute__((visibility("default"))) const topdnn::eigen::Functions* topdnn_eigen_functions() {
  namespace eigen = topdnn::eigen;
  static constexpr eigen::Functions kFunctions = {
      .isa = TOPDNN_ISA,
#ifdef TOPDNN_EIGEN_SGEMM
      .contraction = "sgemm",
#else
      .contraction = "gebp",
#endif
      .version = TOPDNN_VERSION(EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION),
      .make_pool = eigen::MakePool,
      .release_pool = eigen::ReleasePool,
      .matmul = eigen::ComputeMatMul,
      .conv_forward = eigen::ConvForward,
      .conv_backward_weights = eigen::ConvBackwardWeights,
      .conv_backward_data = eigen::ConvBackwardData,
      .depthwise_forward = eigen::DepthwiseForward,
      .depthwise_backward_data = eigen::DepthwiseBackwardData,
      .depthwise_backward_weights = eigen::DepthwiseBackwardWeights,
      .column_sums = eigen::ColumnSums,
      .max_pool = eigen::MaxPool,
      .max_pool_backward = eigen::MaxPoolBackward,
      .average_pool = eigen::AveragePool,
      .average_pool_backward = eigen::AveragePoolBackward,
      .batchnorm_training = eigen::BatchNormTraining,
      .batchnorm_inference = eigen::BatchNormInference,
      .batchnorm_backward = eigen::BatchNormBackward,
      .lrn = eigen::NormalizeResponses,
      .lrn_backward = eigen::NormalizeResponsesBackward,
      .moving_average = eigen::MovingAverage,
      .activate = eigen::Activate,
      .activate_backward = eigen::ActivateBackward,
      .add = eigen::Add,
      .add_bias = eigen::AddBias,
      .copy_rows = eigen::CopyRows,
      .sum = eigen::Sum,
      .sum_backward = eigen::SumBackward,
      .softmax = eigen::Softmax,
      .softmax_backward = eigen::SoftmaxBackward,
      .cross_entropy = eigen::CrossEntropy,
      .shuffle = eigen::Shuffle,
      .resize = eigen::Resize,
      .resize_backward = eigen::ResizeBackward,
      .sgd = eigen::UpdateBySgd,
      .adam = eigen::UpdateByAdam,
  };
  return &kFunctions;
}
