// Additions of tensors and of a bias, and copies between rows, which make up concatenations.

#include <algorithm>

#include "kernels/eigen/per_isa/pool.h"
#include "kernels/eigen/per_isa/table.h"

namespace topdnn::eigen {

namespace {

constexpr Index kPiece = 4096;  // elements

void Add(Pool* pool, std::int64_t n, std::int64_t sources, const float* const* src, bool relu,
         float* dst) {
  Flat sum(dst, n);
  // Each step adds one source to the sum so far. Most additions of a network have two sources and
  // so need one step.
  for (std::int64_t i = 1; i < sources; ++i) {
    const ConstFlat left(i == 1 ? src[0] : dst, n);
    const auto both = left + ConstFlat(src[i], n);
    if (relu && i == sources - 1) {
      sum.device(pool->device) = both.cwiseMax<Eigen::PropagateNaN>(0.0F);
    } else {
      sum.device(pool->device) = both;
    }
  }
}

void CopyRows(Pool* pool, std::int64_t rows, std::int64_t length, const float* src,
              std::int64_t src_stride, float* dst, std::int64_t dst_stride) {
  // Works in pieces of a row, so that threads can share a single row.
  const Index pieces = (length + kPiece - 1) / kPiece;
  const auto elements = static_cast<double>(std::min(length, kPiece));
  pool->For(rows * pieces, 8 * elements, 0.25 * elements, [&](Index first, Index end) {
    for (Index i = first; i < end; ++i) {
      const Index row = i / pieces;
      const Index at = i % pieces * kPiece;
      std::copy_n(src + row * src_stride + at, std::min(kPiece, length - at),
                  dst + row * dst_stride + at);
    }
  });
}

void AddBias(Pool* pool, std::int64_t rows, std::int64_t channels, const float* src,
             const float* bias, float* dst) {
  const auto elements = static_cast<double>(channels);
  const Eigen::Map<const Eigen::ArrayXf> added(bias, channels);
  pool->For(rows, 8 * elements, 0.25 * elements, [&](Index first, Index end) {
    for (Index row = first; row < end; ++row) {
      Eigen::Map<Eigen::ArrayXf>(dst + row * channels, channels) =
          Eigen::Map<const Eigen::ArrayXf>(src + row * channels, channels) + added;
    }
  });
}

const Entry kAdd(&Functions::add, Add);
const Entry kAddBias(&Functions::add_bias, AddBias);
const Entry kCopyRows(&Functions::copy_rows, CopyRows);

}  // namespace

}  // namespace topdnn::eigen
