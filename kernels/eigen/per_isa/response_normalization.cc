// Local response normalization across the channels of rows (rows, C), as in TensorFlow 2.5
// (lrn_op.cc): LaunchLRN contracts the squares with a matrix of ones in a band around the diagonal,
// which it makes in each call. LaunchLRNGrad computes each scale again and adds the terms of its
// window, element by element; threads share the rows. (TensorFlow's windows are symmetric. For more
// than 384 channels and a beta of 0.5 or 1 it keeps running sums on one thread, which is not done
// here.)
//
// In our way a window is a few neighbouring channels; whole rows are shifted and added.

#include <algorithm>
#include <cmath>

#include "kernels/eigen/per_isa/contraction.h"
#include "kernels/eigen/per_isa/pool.h"
#include "kernels/eigen/per_isa/table.h"

namespace topdnn::eigen {

namespace {

using Row = Eigen::Map<Eigen::ArrayXf>;
using ConstRow = Eigen::Map<const Eigen::ArrayXf>;

// sums[c] = sum of the terms of the channels c - before to c + after that exist.
void SumWindows(Index channels, Index before, Index after, const float* terms, Row sums) {
  sums.setZero();
  for (Index shift = -std::min(before, channels - 1); shift <= std::min(after, channels - 1);
       ++shift) {
    const Index first = std::max<Index>(0, -shift);
    const Index count = channels - std::abs(shift);
    sums.segment(first, count) += ConstRow(terms + first + shift, count);
  }
}

// Calls body(row, scratch) for every row. Each thread has its own scratch of (C).
template <typename Body>
void ForEachRow(const Pool& pool, const ResponseNorm& norm, Body body) {
  const Index parts = std::min<Index>(pool.device.numThreads(), norm.rows);
  const Index rows_of_part = norm.rows / parts;
  const auto elements = static_cast<double>(rows_of_part * norm.channels);
  pool.For(parts, 12 * elements, 20 * elements, [&](Index first, Index end) {
    for (Index part = first; part < end; ++part) {
      for (Index row = part * norm.rows / parts; row < (part + 1) * norm.rows / parts; ++row) {
        body(row, norm.scratch + part * 2 * norm.channels);
      }
    }
  });
}

// The channels of channel c's window.
Range WindowOf(const ResponseNorm& norm, Index c) {
  return {std::max<Index>(0, c - norm.before), std::min(norm.channels, c + norm.after + 1)};
}

void NormalizeResponses(Pool* pool, const ResponseNorm& norm, const float* src, float* dst) {
  const Index channels = norm.channels;
  // (C, C): column c has ones at the channels of c's window.
  std::fill_n(norm.scratch, channels * channels, 0.0F);
  for (Index c = 0; c < channels; ++c) {
    const Range window = WindowOf(norm, c);
    for (Index d = window.first; d < window.end; ++d) norm.scratch[d * channels + c] = 1.0F;
  }
  const ConstMatrix band(norm.scratch, channels, channels);
  const ConstMatrix x(src, channels, norm.rows);
  Matrix y(dst, channels, norm.rows);
  const auto scale =
      band.contract(x.square(), Sums{{{1, 0}}}, BlockEpilogue{}) * norm.alpha + norm.k;
  if (norm.beta == 1.0F) {
    y.device(pool->device) = x * scale.inverse();
  } else if (norm.beta == 0.5F) {
    y.device(pool->device) = x * scale.rsqrt();
  } else {
    y.device(pool->device) = x * (scale.log() * -norm.beta).exp();
  }
}

void NormalizeResponsesBackward(Pool* pool, const ResponseNorm& norm, const float* src,
                                const float* dst, const float* diff_dst, float* diff_src) {
  const Index channels = norm.channels;
  const float factor = -2.0F * norm.alpha * norm.beta;
  std::fill_n(diff_src, norm.rows * channels, 0.0F);
  pool->For(norm.rows, 0, static_cast<double>(channels * channels), [&](Index first, Index end) {
    for (Index row = first; row < end; ++row) {
      const float* x = src + row * channels;
      const float* y = dst + row * channels;
      const float* dy = diff_dst + row * channels;
      float* dx = diff_src + row * channels;
      for (Index c = 0; c < channels; ++c) {
        if (dy[c] == 0.0F) continue;
        const Range window = WindowOf(norm, c);
        float scale = 0;
        for (Index d = window.first; d < window.end; ++d) scale += x[d] * x[d];
        scale = norm.alpha * scale + norm.k;
        const float power = std::pow(scale, -norm.beta);
        for (Index d = window.first; d < window.end; ++d) {
          float slope = x[d] * (factor * y[c]) / scale;
          if (d == c) slope += power;
          dx[d] += slope * dy[c];
        }
      }
    }
  });
}

void NormalizeResponseRows(Pool* pool, const ResponseNorm& norm, const float* src, float* dst,
                           float* scale) {
  const Index channels = norm.channels;
  ForEachRow(*pool, norm, [&](Index row, float* scratch) {
    const ConstRow x(src + row * channels, channels);
    Row squares(scratch, channels);
    Row s(scale == nullptr ? scratch + channels : scale + row * channels, channels);
    squares = x.square();
    SumWindows(channels, norm.before, norm.after, scratch, s);
    s = norm.k + norm.alpha * s;
    Row(dst + row * channels, channels) = x * s.pow(-norm.beta);
  });
}

// The sum is over the channels whose windows contain a channel. It reaches as far as a window, in
// the opposite direction:
// diff_src = diff_dst scale^-beta - 2 alpha beta src * sum(diff_dst src scale^(-beta - 1)).
void NormalizeResponseRowsBackward(Pool* pool, const ResponseNorm& norm, const float* src,
                                   const float* scale, const float* diff_dst, float* diff_src) {
  const Index channels = norm.channels;
  ForEachRow(*pool, norm, [&](Index row, float* scratch) {
    const ConstRow x(src + row * channels, channels);
    const ConstRow s(scale + row * channels, channels);
    const ConstRow dy(diff_dst + row * channels, channels);
    Row terms(scratch, channels);
    Row sums(scratch + channels, channels);
    Row dx(diff_src + row * channels, channels);
    dx = dy * s.pow(-norm.beta);
    terms = dx * x / s;
    SumWindows(channels, norm.after, norm.before, scratch, sums);
    dx -= 2 * norm.alpha * norm.beta * x * sums;
  });
}

const Entry kNormalizeResponses(&Functions::lrn, NormalizeResponses);
const Entry kNormalizeResponsesBackward(&Functions::lrn_backward, NormalizeResponsesBackward);
const Entry kNormalizeResponseRows(&Functions::lrn_rows, NormalizeResponseRows);
const Entry kNormalizeResponseRowsBackward(&Functions::lrn_rows_backward,
                                           NormalizeResponseRowsBackward);

}  // namespace

}  // namespace topdnn::eigen
