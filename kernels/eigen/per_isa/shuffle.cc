// Permutation of a tensor's dimensions, which also is a reorder between unblocked layouts.

#include "kernels/eigen/per_isa/pool.h"
#include "kernels/eigen/per_isa/table.h"

namespace topdnn::eigen {

namespace {

void Shuffle(Pool* pool, const std::int64_t extents[4], const int order[4], const float* src,
             float* dst) {
  using From = Eigen::TensorMap<Eigen::Tensor<const float, 4, Eigen::RowMajor, Index>>;
  using To = Eigen::TensorMap<Eigen::Tensor<float, 4, Eigen::RowMajor, Index>>;
  const Eigen::array<int, 4> permutation = {order[0], order[1], order[2], order[3]};
  const From from(src, extents[0], extents[1], extents[2], extents[3]);
  To to(dst, extents[order[0]], extents[order[1]], extents[order[2]], extents[order[3]]);
  to.device(pool->device) = from.shuffle(permutation);
}

const Entry kShuffle(&Functions::shuffle, Shuffle);

}  // namespace

}  // namespace topdnn::eigen
