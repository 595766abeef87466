// Local response normalization across the channels of rows (rows, C): a window is a few neighbours,
// added shifted, a whole row at a time.

#include <algorithm>

#include "kernels/eigen/per_isa/operations.h"
#include "kernels/eigen/per_isa/pool.h"

namespace topdnn::eigen {

namespace {

using Row = Eigen::Map<Eigen::ArrayXf>;
using ConstRow = Eigen::Map<const Eigen::ArrayXf>;

// sums[c] = the terms of channels c - before to c + after, as far as there are such.
void SumWindows(Index channels, Index before, Index after, const float* terms, Row sums) {
  sums.setZero();
  for (Index shift = -std::min(before, channels - 1); shift <= std::min(after, channels - 1);
       ++shift) {
    const Index first = std::max<Index>(0, -shift);
    const Index count = channels - std::abs(shift);
    sums.segment(first, count) += ConstRow(terms + first + shift, count);
  }
}

// Calls body(row, scratch) for every row; each thread has (C) of scratch.
template <typename Body>
void ForEachRow(const Pool& pool, const ResponseNorm& norm, Body body) {
  const Index parts = std::min<Index>(pool.device.numThreads(), norm.rows);
  const auto elements = static_cast<double>(norm.rows / parts * norm.channels);
  pool.For(parts, 12 * elements, 20 * elements, [&](Index first, Index end) {
    for (Index part = first; part < end; ++part) {
      for (Index row = part * norm.rows / parts; row < (part + 1) * norm.rows / parts; ++row) {
        body(row, norm.scratch + part * 2 * norm.channels);
      }
    }
  });
}

}  // namespace

void NormalizeResponses(Pool* pool, const ResponseNorm& norm, const float* src, float* dst,
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

// With the windows that hold a channel, which reach as far the other way:
// diff_src = diff_dst scale^-beta - 2 alpha beta src * sum(diff_dst src scale^(-beta - 1)).
void NormalizeResponsesBackward(Pool* pool, const ResponseNorm& norm, const float* src,
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

}  // namespace topdnn::eigen
