// Folding of an inference batch normalization into the convolution before it, which it makes free:
// both are linear in each output channel (Jacob et al. 2018, "Quantization and Training of Neural
// Networks for Efficient Integer-Arithmetic-Only Inference", section 3.2).

#ifndef TOPDNN_KERNELS_BATCHNORM_FOLD_H_
#define TOPDNN_KERNELS_BATCHNORM_FOLD_H_

#include <span>
#include <vector>

namespace topdnn {

// What an inference batch normalization does to K channels.
struct BatchNormValues {
  std::span<const float> mean, variance, scale, shift;  // (K) each
  float epsilon;
};

struct FoldedWeights {
  std::vector<float> weights;  // as given, row-major, output channels outermost
  std::vector<float> bias;     // (K)
};

// Weights (K, ...), of a convolution in any groups or of an inner product, and bias (K), or none,
// such that conv(src, folded) = batchnorm(conv(src, given)). Computed in double. Throws
// std::invalid_argument where lengths do not fit or variance + epsilon is not above 0.
FoldedWeights FoldBatchNorm(std::span<const float> weights, std::span<const float> bias,
                            const BatchNormValues& norm);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_BATCHNORM_FOLD_H_
