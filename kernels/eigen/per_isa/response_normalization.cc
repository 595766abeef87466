// Local response normalization across the channels of rows (rows, C). A window is a few
// neighbouring channels; whole rows are shifted and added.

#include <algorithm>
#include <cmath>

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
  const auto elements = static_cast<double>(norm.rows / parts * norm.channels);
  pool.For(parts, 12 * elements, 20 * elements, [&](Index first, Index end) {
    for (Index part = first; part < end; ++part) {
      for (Index row = part * norm.rows / parts; row < (part + 1) * norm.rows / parts; ++row) {
        body(row, norm.scratch + part * 2 * norm.channels);
      }
    }
  });
}

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

// Uses the windows that contain a channel; they have the same reach in the opposite direction:
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

const Entry kNormalizeResponses(&Functions::lrn, NormalizeResponses);
const Entry kNormalizeResponsesBackward(&Functions::lrn_backward, NormalizeResponsesBackward);

}  // namespace

}  // namespace topdnn::eigen
