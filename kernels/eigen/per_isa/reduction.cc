// Sums over dimensions. Column sums serve bias gradients and are divided among threads as in
// TensorFlow's ReduceOuterDimensions (redux_functor.h). General sums are as in TensorFlow's
// reduction_ops_common.h, over dimensions that are merged to at most three; a mean divides in the
// same expression.

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
  const auto assign = [&](auto result, const auto& sum) {
    if (r.divisor == 1.0F) {
      result.device(pool->device) = sum;
    } else {
      result.device(pool->device) = sum / r.divisor;
    }
  };
  if (r.keeps_middle) {
    assign(Block<1>(dst, r.middle),
           ConstBlock<3>(src, r.outer, r.middle, r.inner).sum(kOver<0, 2>));
  } else if (r.outer == 1 && r.inner == 1) {
    assign(Block<0>(dst), ConstBlock<1>(src, r.middle).sum());
  } else if (r.inner == 1) {
    assign(Block<1>(dst, r.outer), ConstBlock<2>(src, r.outer, r.middle).sum(kOver<1>));
  } else if (r.outer == 1) {
    assign(Block<1>(dst, r.inner), ConstBlock<2>(src, r.middle, r.inner).sum(kOver<0>));
  } else {
    assign(Block<2>(dst, r.outer, r.inner),
           ConstBlock<3>(src, r.outer, r.middle, r.inner).sum(kOver<1>));
  }
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

using Row = Eigen::Map<Eigen::ArrayXf>;
using ConstRow = Eigen::Map<const Eigen::ArrayXf>;

// How the threads share the sums of columns. A block has its own columns when there are many for
// each thread, otherwise its own rows, of which it has enough for some work.
struct ColumnBlocks {
  ColumnBlocks(Index rows, Index columns, Index threads)
      : by_columns(columns > threads * kManyColumns),
        count(by_columns ? threads : std::min(threads, MostOfRows(rows, columns))),
        size(Eigen::divup(by_columns ? columns : rows, count)) {}

  const bool by_columns;
  const Index count;  // of blocks
  const Index size;   // of a block, in columns or rows

 private:
  static constexpr Index kManyColumns = 16;
  static constexpr Index kLeastWork = 2000;  // elements

  static Index MostOfRows(Index rows, Index columns) {
    return std::min(rows, Eigen::divup(rows * columns, Eigen::divup(kLeastWork, columns)));
  }
};

void ColumnSums(Pool* pool, std::int64_t rows, std::int64_t columns, const float* src,
                float* partial, float* dst) {
  const ColumnBlocks blocks(rows, columns, pool->device.numThreads());
  const Index sets = blocks.by_columns ? 1 : blocks.count;  // of sums of all columns
  Row(partial, sets * columns).setZero();
  const auto elements = static_cast<double>((blocks.by_columns ? rows : columns) * blocks.size);
  // One addition an element. The sums stay in the cache.
  pool->For(blocks.count, 4 * elements, elements, [&](Index first, Index end) {
    const Index at = first * blocks.size;
    if (blocks.by_columns) {
      const Index length = std::max<Index>(std::min<Index>(columns, end * blocks.size) - at, 0);
      Row sums(partial + at, length);
      for (Index row = 0; row < rows; ++row) sums += ConstRow(src + row * columns + at, length);
      return;
    }
    Row sums(partial + first * columns, columns);
    for (Index row = at; row < std::min<Index>(rows, end * blocks.size); ++row) {
      sums += ConstRow(src + row * columns, columns);
    }
  });
  Row total(partial, columns);
  for (Index set = 1; set < sets; ++set) total += ConstRow(partial + set * columns, columns);
  Row(dst, columns) = total;
}

const Entry kSum(&Functions::sum, Sum);
const Entry kSumBackward(&Functions::sum_backward, SumBackward);
const Entry kColumnSums(&Functions::column_sums, ColumnSums);

}  // namespace

}  // namespace topdnn::eigen
