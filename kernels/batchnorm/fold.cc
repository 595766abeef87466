#include "kernels/batchnorm/fold.h"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>
#include <utility>

namespace topdnn {

namespace {

void Check(std::size_t weights, std::size_t bias, const BatchNormValues& norm) {
  const std::size_t channels = norm.mean.size();
  const bool fits = channels > 0 && norm.variance.size() == channels &&
                    norm.scale.size() == channels && norm.shift.size() == channels && weights > 0 &&
                    weights % channels == 0 && (bias == 0 || bias == channels);
  if (fits) return;
  throw std::invalid_argument(fmt::format(
      "folding a batch normalization of {} means, {} variances, {} scales and {} shifts into {} "
      "weights and {} biases: each must have one value per output channel (the biases may be "
      "missing), and the number of weights must be a multiple of the channels",
      channels, norm.variance.size(), norm.scale.size(), norm.shift.size(), weights, bias));
}

}  // namespace

FoldedWeights FoldBatchNorm(std::span<const float> weights, std::span<const float> bias,
                            const BatchNormValues& norm, FoldedWeights reused) {
  Check(weights.size(), bias.size(), norm);
  const std::size_t channels = norm.mean.size();
  const std::size_t per_channel = weights.size() / channels;
  FoldedWeights folded = std::move(reused);
  folded.weights.resize(weights.size());
  folded.bias.resize(channels);
  for (std::size_t k = 0; k < channels; ++k) {
    const double spread = static_cast<double>(norm.variance[k]) + static_cast<double>(norm.epsilon);
    if (!(spread > 0)) {
      throw std::invalid_argument(
          fmt::format("folding a batch normalization: variance {} of channel {} and epsilon {} "
                      "must sum to a number above 0",
                      norm.variance[k], k, norm.epsilon));
    }
    const double factor = static_cast<double>(norm.scale[k]) / std::sqrt(spread);
    for (std::size_t i = k * per_channel; i < (k + 1) * per_channel; ++i) {
      folded.weights[i] = static_cast<float>(static_cast<double>(weights[i]) * factor);
    }
    const double before = bias.empty() ? 0.0 : static_cast<double>(bias[k]);
    folded.bias[k] = static_cast<float>((before - static_cast<double>(norm.mean[k])) * factor +
                                        static_cast<double>(norm.shift[k]));
  }
  return folded;
}

}  // namespace topdnn
