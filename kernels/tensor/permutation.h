// A permutation of a tensor's dimensions. A transposition permutes the tensor; a reorder between
// unblocked layouts permutes its memory.

#ifndef TOPDNN_KERNELS_TENSOR_PERMUTATION_H_
#define TOPDNN_KERNELS_TENSOR_PERMUTATION_H_

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/tensor/tensor.h"

namespace topdnn {

// Dimension i of the result is dimension order[i] of the source. `extents` are the source's,
// outermost first.
struct Permutation {
  std::vector<std::int64_t> extents;
  std::vector<int> order;

  bool is_copy() const { return order.size() <= 1; }
};

// The permutation of fewest dimensions that moves every element the same way. Dimensions of extent
// 1 are removed, and dimensions that stay adjacent are merged. A tensor of one element has no
// dimension left.
Permutation Simplified(std::span<const std::int64_t> extents, std::span<const int> order);

// The permutation that a reorder between two unblocked layouts applies to the memory of a tensor.
Permutation PermutationBetween(const Shape& shape, const Layout& from, const Layout& to);

// Whether the layout is only an order of the dimensions, without blocks.
bool IsUnblocked(const Layout& layout);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_TENSOR_PERMUTATION_H_
