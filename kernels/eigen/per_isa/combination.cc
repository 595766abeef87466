// Additions of tensors and of a bias, and copies between rows, which make up concatenations.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "kernels/eigen/per_isa/pool.h"
#include "kernels/eigen/per_isa/table.h"

namespace topdnn::eigen {

namespace {

constexpr Index kPiece = 4096;  // elements

// dst = the sum of kCount sources in one expression, added to dst if kAdds.
template <int kCount, bool kAdds = false>
void SumInOneExpression(const Eigen::ThreadPoolDevice& device, Index n, const float* const* src,
                        bool relu, float* dst) {
  const auto assign = [&](const auto& value) {
    if (relu) {
      Flat(dst, n).device(device) = value.template cwiseMax<Eigen::PropagateNaN>(0.0F);
    } else {
      Flat(dst, n).device(device) = value;
    }
  };
  // An expression refers to its tensors, so they live until the assignment.
  [&]<std::size_t... kPlaces>(std::index_sequence<kPlaces...>) {
    if constexpr (kAdds) {
      assign(ConstFlat(dst, n) + (... + ConstFlat(src[kPlaces], n)));
    } else {
      assign((... + ConstFlat(src[kPlaces], n)));
    }
  }
  (std::make_index_sequence<kCount>());
}

// In groups as TensorFlow's AddN (aggregate_ops.cc): the first expression has two to nine sources,
// so that a multiple of eight is left, and each other adds eight sources to the result. The ReLU is
// ours: it is a part of the last expression.
void Add(Pool* pool, std::int64_t n, std::int64_t sources, const float* const* src, bool relu,
         float* dst) {
  constexpr Index kGroup = 8;
  constexpr decltype(&SumInOneExpression<2>) kFirst[kGroup] = {
      SumInOneExpression<2>, SumInOneExpression<3>, SumInOneExpression<4>, SumInOneExpression<5>,
      SumInOneExpression<6>, SumInOneExpression<7>, SumInOneExpression<8>, SumInOneExpression<9>};
  const Index first = (sources - 2) % kGroup;
  Index added = first + 2;
  kFirst[first](pool->device, n, src, relu && added == sources, dst);
  for (; added < sources; added += kGroup) {
    SumInOneExpression<kGroup, true>(pool->device, n, src + added,
                                     relu && added + kGroup == sources, dst);
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

// As in TensorFlow (bias_op.h): one expression over flat tensors, which repeats the bias. Its
// indices have 32 bits when they are enough.
template <typename Place>
void AddRepeated(const Eigen::ThreadPoolDevice& device, Place rows, Place channels,
                 const float* src, const float* bias, float* dst) {
  using Source = Eigen::TensorMap<Eigen::Tensor<const float, 1, Eigen::RowMajor, Place>>;
  using Result = Eigen::TensorMap<Eigen::Tensor<float, 1, Eigen::RowMajor, Place>>;
  Result(dst, rows * channels).device(device) =
      Source(src, rows * channels) +
      Source(bias, channels).broadcast(Eigen::DSizes<Place, 1>(rows));
}

void AddBias(Pool* pool, std::int64_t rows, std::int64_t channels, const float* src,
             const float* bias, float* dst) {
  if (rows * channels < std::numeric_limits<int>::max()) {
    AddRepeated(pool->device, static_cast<int>(rows), static_cast<int>(channels), src, bias, dst);
  } else {
    AddRepeated<Index>(pool->device, rows, channels, src, bias, dst);
  }
}

const Entry kAdd(&Functions::add, Add);
const Entry kAddBias(&Functions::add_bias, AddBias);
const Entry kCopyRows(&Functions::copy_rows, CopyRows);

}  // namespace

}  // namespace topdnn::eigen
