// The k largest or smallest elements along an axis, or their indices: ONNX's TopK, ArgMax and
// ArgMin.

#ifndef TOPDNN_KERNELS_TOPK_TOPK_H_
#define TOPDNN_KERNELS_TOPK_TOPK_H_

#include <cstdint>
#include <string>

#include "kernels/op/op.h"

namespace topdnn {

struct TopKSettings {
  int axis = 0;
  std::int64_t k = 1;
  bool largest = true;   // or smallest
  bool indices = false;  // dst has the elements' indices on the axis instead of the elements

  bool operator==(const TopKSettings&) const = default;
};

// Operands: forward src -> dst, with the extent k on the axis, from the first place to the last. Of
// equal elements the first one comes first; a NaN comes before all numbers. Indices are whole
// numbers in the type of dst. There is no backward pass.
class TopKOp : public Op {
 public:
  // Throws std::invalid_argument for extents below 1, an axis that src does not have, a k that is
  // not between 1 and the extent, and an extent whose indices f32 does not represent (above 2^24).
  TopKOp(Shape src, const TopKSettings& settings);

  const Shape& src_shape() const { return src_; }
  const Shape& dst_shape() const { return dst_; }
  const TopKSettings& settings() const { return settings_; }
  // Number of elements on the axis, and distance between two of them.
  std::int64_t extent() const { return src_[settings_.axis]; }
  std::int64_t stride() const;
  // Number of rows along the axis.
  std::int64_t rows() const { return src_.elements() / extent(); }

  std::string_view kind() const override { return "topk"; }
  // "8x1000_axis1_k5"; then "_smallest" and "_indices".
  std::string Problem() const override;
  std::vector<Operand> Operands(const Execution& execution) const override;
  // k comparisons per element of src.
  Arithmetic ArithmeticOf(const Execution& execution) const override;
  std::int64_t AccumulationLength(Pass /*pass*/) const override { return 0; }
  PlannerTraits Traits() const override { return {.layout_policy = LayoutPolicy::kPlain}; }

 private:
  Shape src_;
  TopKSettings settings_;
  Shape dst_;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_TOPK_TOPK_H_
