// Sums along the rows of a matrix, as bias gradients need them: each range of rows into a row of
// its own, then these together.

#include <algorithm>

#include "kernels/eigen/per_isa/operations.h"
#include "kernels/eigen/per_isa/pool.h"

namespace topdnn::eigen {

void ColumnSums(Pool* pool, std::int64_t rows, std::int64_t columns, const float* src,
                float* partial, float* dst) {
  using Row = Eigen::Map<Eigen::ArrayXf>;
  using ConstRow = Eigen::Map<const Eigen::ArrayXf>;
  const Index parts = std::min<Index>(pool->device.numThreads(), rows);
  const double elements = static_cast<double>(rows / parts * columns);
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

}  // namespace topdnn::eigen
