// Where a layout puts the elements of a tensor. Each dimension adds to an element's position
// independently of the others, so a table for each dimension describes all positions. Positions are
// in elements.

#ifndef TOPDNN_KERNELS_TENSOR_ADDRESSING_H_
#define TOPDNN_KERNELS_TENSOR_ADDRESSING_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/tensor/tensor.h"

namespace topdnn {

struct TagBlock {
  int dimension;
  std::int64_t size;
};

// A parsed tag: the outer dimensions in memory order, then the inner blocks.
struct ParsedTag {
  std::vector<int> outer;
  std::vector<TagBlock> blocks;
};

// Nothing for an invalid tag.
std::optional<ParsedTag> ParseTag(std::string_view tag);

// Parses the tag of a layout for tensors of this shape. Throws std::invalid_argument when the tag
// is invalid or has another rank. For a scalar it ignores the tag.
ParsedTag ParsedFor(const std::string& tag, const Shape& shape);

// Number of elements of each dimension in one block: the product of the sizes of its inner blocks,
// or 1.
std::vector<std::int64_t> BlocksOf(const ParsedTag& parsed);

// What each dimension adds to an element's position: the sum over its digits of digit * stride. The
// digits are the index in mixed radix, with the dimension's inner blocks as radices.
struct Addressing {
  // offset_of[d][i]: the position that index i of dimension d adds.
  std::vector<std::vector<std::int64_t>> offset_of;
};

// Throws std::invalid_argument when the tag does not fit the shape.
Addressing AddressingOf(const std::string& tag, const Shape& shape);

// The positions of all elements by two short tables: in row-major order of the logical tensor,
// element i * inner.size() + j is at outer[i] + inner[j].
struct FactoredOffsets {
  std::vector<std::int64_t> outer;  // of the first dimensions
  std::vector<std::int64_t> inner;  // of the other ones
};

// How many of the first dimensions belong to `outer`, so that both tables together are as short as
// possible.
int OuterDimensions(const Shape& shape);

// Divides the dimensions as OuterDimensions does: the tables of all layouts of a shape have the
// same lengths. Throws std::invalid_argument for an opaque layout, or one that does not fit.
FactoredOffsets FactoredOffsetsOf(const TensorDesc& desc);

// Whether the elements of both tensors lie in their logical order without gaps: then no table is
// needed.
bool AreRowMajor(const TensorDesc& a, const TensorDesc& b);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_TENSOR_ADDRESSING_H_
