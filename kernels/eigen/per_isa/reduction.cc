// Sums over dimensions. Column sums serve bias gradients: each range of rows is summed into its own
// row, then these rows are added. General sums are as in TensorFlow's reduction_ops_common.h, over
// dimensions that are merged to at most three.

#include <algorithm>
#include <utility>

#include "kernels/eigen/per_isa/pool.h"
#include "kernels/eigen/per_isa/table.h"

namespace topdnn::eigen {

namespace {

template <int kRank>
using Block = Eigen::TensorMap<Eigen::Tensor<float, kRank, Eigen::RowMajor, Index>>;
template <int kRank>
using ConstBlock = Eigen::TensorMap<Eigen::Tensor<const float, kRank, Eigen::RowMajor, Index>>;

// The summed dimensions are template arguments, so that Eigen uses its vector code.
template <int... kDimensions>
constexpr Eigen::IndexList<Eigen::type2index<kDimensions>...> kOver = {};

void Sum(Pool* pool, const Reduction& r, const float* src, float* dst) {
  const auto& device = pool->device;
  if (r.keeps_middle) {
    Block<1>(dst, r.middle).device(device) =
        ConstBlock<3>(src, r.outer, r.middle, r.inner).sum(kOver<0, 2>);
  } else if (r.outer == 1 && r.inner == 1) {
    Block<0>(dst).device(device) = ConstBlock<1>(src, r.middle).sum();
  } else if (r.inner == 1) {
    Block<1>(dst, r.outer).device(device) = ConstBlock<2>(src, r.outer, r.middle).sum(kOver<1>);
  } else if (r.outer == 1) {
    Block<1>(dst, r.inner).device(device) = ConstBlock<2>(src, r.middle, r.inner).sum(kOver<0>);
  } else {
    Block<2>(dst, r.outer, r.inner).device(device) =
        ConstBlock<3>(src, r.outer, r.middle, r.inner).sum(kOver<1>);
  }
  if (r.divisor == 1.0F) return;
  Flat sums(dst, r.keeps_middle ? r.middle : r.outer * r.inner);
  sums.device(device) = sums / r.divisor;
}

void SumBackward(Pool* pool, const Reduction& r, const float* diff_dst, float* diff_src) {
  const Eigen::array<Index, 3> all = {r.outer, r.middle, r.inner};
  Eigen::array<Index, 3> kept = all;
  Eigen::array<Index, 3> times = {1, 1, 1};
  for (std::size_t d = 0; d < 3; ++d) {
    if ((d == 1) != r.keeps_middle) std::swap(kept[d], times[d]);
  }
  Block<3> result(diff_src, all[0], all[1], all[2]);
  const ConstBlock<3> gradient(diff_dst, kept[0], kept[1], kept[2]);
  if (r.divisor == 1.0F) {
    result.device(pool->device) = gradient.broadcast(times);
  } else {
    result.device(pool->device) = (gradient / r.divisor).eval().broadcast(times);
  }
}

void ColumnSums(Pool* pool, std::int64_t rows, std::int64_t columns, const float* src,
                float* partial, float* dst) {
  using Row = Eigen::Map<Eigen::ArrayXf>;
  using ConstRow = Eigen::Map<const Eigen::ArrayXf>;
  const Index parts = std::min<Index>(pool->device.numThreads(), rows);
  const Index rows_of_part = rows / parts;
  const double elements = static_cast<double>(rows_of_part * columns);
  pool->For(parts, 4 * elements, 0.25 * elements, [&](Index first, Index end) {
    for (Index part = first; part < end; ++part) {
      Row sums(partial + part * columns, columns);
      sums.setZero();
      for (Index row = part * rows / parts; row < (part + 1) * rows / parts; ++row) {
        sums += ConstRow(src + row * columns, columns);
      }
    }
  });
  Row total(dst, columns);
  total = ConstRow(partial, columns);
  for (Index part = 1; part < parts; ++part) total += ConstRow(partial + part * columns, columns);
}

const Entry kSum(&Functions::sum, Sum);
const Entry kSumBackward(&Functions::sum_backward, SumBackward);
const Entry kColumnSums(&Functions::column_sums, ColumnSums);

}  // namespace

}  // namespace topdnn::eigen
