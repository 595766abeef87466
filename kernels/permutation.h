// Another order of a tensor's dimensions: what a transposition does to a tensor, and a reorder
// between unblocked layouts to its memory.

#ifndef TOPDNN_KERNELS_PERMUTATION_H_
#define TOPDNN_KERNELS_PERMUTATION_H_

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/tensor.h"

namespace topdnn {

// Dimension i of the result is dimension order[i] of the source, whose extents, outermost first,
// these are.
struct Permutation {
  std::vector<std::int64_t> extents;
  std::vector<int> order;

  bool is_copy() const { return order.size() <= 1; }
};

// The permutation of fewest dimensions that moves every element the same way: dimensions of one
// element left out, dimensions that stay together seen as one. No dimension at all is left of a
// tensor of one element.
Permutation Simplified(std::span<const std::int64_t> extents, std::span<const int> order);

// What a reorder between two unblocked layouts does to the memory of a tensor.
Permutation PermutationBetween(const Shape& shape, const Layout& from, const Layout& to);

// Whether the layout is an order of the dimensions and nothing more.
bool IsUnblocked(const Layout& layout);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_PERMUTATION_H_
