// Concatenation of tensors along one axis, such as the branches of GoogLeNet and DenseNet along the
// channels.

#ifndef TOPDNN_KERNELS_CONCAT_CONCAT_H_
#define TOPDNN_KERNELS_CONCAT_CONCAT_H_

#include <string>
#include <vector>

#include "kernels/op/op.h"

namespace topdnn {

// Operands: forward src_0 ... src_(n-1) (IndexedSrc) -> dst; backward_data diff_dst -> diff_src_0
// ... (IndexedDiffSrc), each of which is its part of diff_dst.
class ConcatOp : public Op {
 public:
  // Throws std::invalid_argument when there is no source or more than kMaxSources, the axis does
  // not exist, extents are below 1 or differ in another axis, or a tensor is too large.
  ConcatOp(std::vector<Shape> sources, int axis);

  const std::vector<Shape>& sources() const { return sources_; }
  int axis() const { return axis_; }
  const Shape& dst_shape() const { return dst_; }
  // Index along the axis where source i begins.
  std::int64_t OffsetOf(int i) const;

  std::string_view kind() const override { return "concat"; }
  std::string Problem() const override;  // "8x96x28x28_axis1_parts64x32"
  std::vector<Operand> Operands(const Execution& execution) const override;
  // No arithmetic. Every byte is read once and written once.
  std::int64_t AccumulationLength(Pass /*pass*/) const override { return 0; }
  // Empty unless every axis before the concatenated one has extent 1.
  PlannerTraits Traits() const override;

 private:
  std::vector<Shape> sources_;
  int axis_;
  Shape dst_;
};

// A row-major tensor seen as `outer` rows of extent(axis) * `inner` elements.
struct ConcatRows {
  explicit ConcatRows(const ConcatOp& op);

  std::int64_t outer = 1, inner = 1;
  std::vector<std::int64_t> lengths;  // elements per row, by source
  std::vector<std::int64_t> starts;   // where a source's part begins in a row of dst
  std::int64_t dst_length = 0;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_CONCAT_CONCAT_H_
