// Folds an inference batch normalization into the convolution before it. This is possible because
// both are linear in each output channel (Jacob et al. 2018, "Quantization and Training of Neural
// Networks for Efficient Integer-Arithmetic-Only Inference", section 3.2). The normalization then
// costs nothing.

#ifndef TOPDNN_KERNELS_BATCHNORM_FOLD_H_
#define TOPDNN_KERNELS_BATCHNORM_FOLD_H_

#include <span>
#include <vector>

namespace topdnn {

// The parameters and statistics of an inference batch normalization of K channels.
struct BatchNormValues {
  std::span<const float> mean, variance, scale, shift;  // (K) each
  float epsilon;
};

struct FoldedWeights {
  std::vector<float> weights;  // in the given order: row-major, output channels outermost
  std::vector<float> bias;     // (K)
};

// Returns weights and bias such that conv(src, folded) = batchnorm(conv(src, given)). `weights` are
// (K, ...), of a convolution with any number of groups or of an inner product; `bias` is (K) or
// empty. Computes in double. Throws std::invalid_argument when lengths do not match or variance +
// epsilon is not above 0. Uses the memory of `reused`: pages that are new take longer than the
// arithmetic.
FoldedWeights FoldBatchNorm(std::span<const float> weights, std::span<const float> bias,
                            const BatchNormValues& norm, FoldedWeights reused = {});

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_BATCHNORM_FOLD_H_
