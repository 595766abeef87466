// Batch normalization over (rows, C): the batch's mean, then its variance around the mean, then
// each row, which are the passes of TensorFlow's FusedBatchNorm on Eigen (fused_batch_norm_op.cc).
// The sums are ours: threads share ranges of rows, and each has its own. So is the gradient.

#include <algorithm>

#include "kernels/eigen/per_isa/pool.h"
#include "kernels/eigen/per_isa/table.h"

namespace topdnn::eigen {

namespace {

using Row = Eigen::Map<Eigen::ArrayXf>;
using ConstRow = Eigen::Map<const Eigen::ArrayXf>;

// The scratch memory of a normalization: two rows of sums per thread, then two rows of factors.
struct Scratch {
  Scratch(const Pool& pool, const BatchNorm& norm)
      : channels(norm.channels),
        parts(std::min<Index>(pool.device.numThreads(), norm.rows)),
        memory(norm.scratch) {}

  Row Sums(Index which, Index part) const {
    return {memory + (which * parts + part) * channels, channels};
  }
  Row Factors(Index which) const { return {memory + (2 * parts + which) * channels, channels}; }

  // Adds the sums of one kind over all parts into the first part and returns that.
  Row Total(Index which) const {
    Row total = Sums(which, 0);
    for (Index part = 1; part < parts; ++part) total += Sums(which, part);
    return total;
  }

  const Index channels, parts;
  float* const memory;
};

// Calls body(part, row) for every row; each thread has one part of the rows. `arrays` is the number
// of arrays that are read or written.
template <typename Body>
void ForEachRow(const Pool& pool, const BatchNorm& norm, Index parts, int arrays, Body body) {
  const Index rows = norm.rows / parts;
  const auto elements = static_cast<double>(rows * norm.channels);
  pool.For(parts, 4 * arrays * elements, 0.5 * elements, [&](Index first, Index end) {
    for (Index part = first; part < end; ++part) {
      for (Index row = part * norm.rows / parts; row < (part + 1) * norm.rows / parts; ++row) {
        body(part, row);
      }
    }
  });
}

void Statistics(const Pool& pool, const BatchNorm& norm, const Scratch& scratch, const float* src) {
  const Index channels = norm.channels;
  const auto count = static_cast<float>(norm.rows);
  for (Index part = 0; part < scratch.parts; ++part) {
    scratch.Sums(0, part).setZero();
    scratch.Sums(1, part).setZero();
  }
  ForEachRow(pool, norm, scratch.parts, 1, [&](Index part, Index row) {
    scratch.Sums(0, part) += ConstRow(src + row * channels, channels);
  });
  Row mean(norm.mean, channels);
  mean = scratch.Total(0) / count;
  ForEachRow(pool, norm, scratch.parts, 1, [&](Index part, Index row) {
    scratch.Sums(1, part) += (ConstRow(src + row * channels, channels) - mean).square();
  });
  Row(norm.variance, channels) = scratch.Total(1) / count;
}

void BatchNormInference(Pool* pool, const BatchNorm& norm, const float* src, float* dst) {
  const Scratch scratch(*pool, norm);
  const Index channels = norm.channels;
  const ConstRow mean(norm.mean, channels);
  const ConstRow shift(norm.shift, channels);
  Row factor = scratch.Factors(0);
  factor =
      ConstRow(norm.scale, channels) / (ConstRow(norm.variance, channels) + norm.epsilon).sqrt();
  ForEachRow(*pool, norm, scratch.parts, 2, [&](Index, Index row) {
    Row y(dst + row * channels, channels);
    y = (ConstRow(src + row * channels, channels) - mean) * factor + shift;
    if (!norm.relu) return;
    if (norm.passed != nullptr) {
      std::uint8_t* passed = norm.passed + row * channels;
      for (Index c = 0; c < channels; ++c) passed[c] = y[c] > 0.0F ? 1 : 0;
    }
    // This form keeps a NaN.
    for (Index c = 0; c < channels; ++c) y[c] = y[c] < 0.0F ? 0.0F : y[c];
  });
}

void BatchNormTraining(Pool* pool, const BatchNorm& norm, const float* src, float* dst) {
  Statistics(*pool, norm, Scratch(*pool, norm), src);
  BatchNormInference(pool, norm, src, dst);
}

// With x^ = (src - mean) / deviation and averages over the rows: diff_src = scale / deviation *
// (diff_dst - mean(diff_dst) - x^ * mean(diff_dst * x^)).
void BatchNormBackward(Pool* pool, const BatchNorm& norm, const float* src, const float* diff_dst,
                       float* diff_src, float* diff_scale, float* diff_shift) {
  const Scratch scratch(*pool, norm);
  const Index channels = norm.channels;
  const auto count = static_cast<float>(norm.rows);
  const ConstRow mean(norm.mean, channels);
  Row inverse = scratch.Factors(0);
  inverse = (ConstRow(norm.variance, channels) + norm.epsilon).rsqrt();
  for (Index part = 0; part < scratch.parts; ++part) {
    scratch.Sums(0, part).setZero();
    scratch.Sums(1, part).setZero();
  }
  // Elements that the ReLU set to 0 have no gradient. The masked gradient is stored in diff_src and
  // read again below.
  ForEachRow(*pool, norm, scratch.parts, 3, [&](Index part, Index row) {
    Row gradient(diff_src + row * channels, channels);
    if (norm.passed == nullptr) {
      gradient = ConstRow(diff_dst + row * channels, channels);
    } else {
      const std::uint8_t* passed = norm.passed + row * channels;
      const float* all = diff_dst + row * channels;
      for (Index c = 0; c < channels; ++c) gradient[c] = passed[c] != 0 ? all[c] : 0.0F;
    }
    scratch.Sums(0, part) += gradient;
    scratch.Sums(1, part) +=
        gradient * ((ConstRow(src + row * channels, channels) - mean) * inverse);
  });
  Row mean_gradient = scratch.Total(0);
  Row mean_product = scratch.Total(1);
  Row(diff_shift, channels) = mean_gradient;
  Row(diff_scale, channels) = mean_product;
  mean_gradient /= count;
  mean_product *= inverse / count;
  Row factor = scratch.Factors(1);
  factor = ConstRow(norm.scale, channels) * inverse;
  ForEachRow(*pool, norm, scratch.parts, 3, [&](Index, Index row) {
    Row gradient(diff_src + row * channels, channels);
    const ConstRow x(src + row * channels, channels);
    gradient = factor * (gradient - mean_gradient - (x - mean) * mean_product);
  });
}

void MovingAverage(Pool* pool, std::int64_t n, float momentum, const float* src, float* dst) {
  Flat average(dst, n);
  average.device(pool->device) = average * momentum + ConstFlat(src, n) * (1.0F - momentum);
}

const Entry kBatchNormTraining(&Functions::batchnorm_training, BatchNormTraining);
const Entry kBatchNormInference(&Functions::batchnorm_inference, BatchNormInference);
const Entry kBatchNormBackward(&Functions::batchnorm_backward, BatchNormBackward);
const Entry kMovingAverage(&Functions::moving_average, MovingAverage);

}  // namespace

}  // namespace topdnn::eigen
