// Elements of a tensor at given indices: ONNX's Gather, and with an index for each element also
// GatherElements, GatherND and others.

#ifndef TOPDNN_KERNELS_GATHER_GATHER_H_
#define TOPDNN_KERNELS_GATHER_GATHER_H_

#include <cstdint>
#include <string>

#include "kernels/op/op.h"

namespace topdnn {

struct GatherExtents {
  std::int64_t outer = 1, extent = 1, inner = 1;  // src is (outer, extent, inner)
  std::int64_t count = 1;                         // number of indices

  bool operator==(const GatherExtents&) const = default;
};

// Operands: forward src (outer, extent, inner) and indices (count) -> dst (outer, count, inner),
// dst[o, j, i] = src[o, indices[j], i]. Indices are whole numbers from -extent to extent - 1, where
// -1 is the last element; the elements for any other index are NaN. Constant indices are the
// parameter `indices` in the role of weights; then src is the only source. There is no backward
// pass.
class GatherOp : public Op {
 public:
  // Throws std::invalid_argument for extents below 1, and for an extent whose indices f32 does not
  // represent (above 2^24).
  GatherOp(const GatherExtents& extents, bool constant);

  const GatherExtents& extents() const { return extents_; }
  bool constant() const { return constant_; }
  Shape src_shape() const { return {extents_.outer, extents_.extent, extents_.inner}; }
  Shape dst_shape() const { return {extents_.outer, extents_.count, extents_.inner}; }
  Arg src_arg() const { return constant_ ? Arg(Arg::kSrc) : IndexedSrc(0); }
  Arg indices_arg() const { return constant_ ? Arg(Arg::kWeights) : IndexedSrc(1); }

  std::string_view kind() const override { return "gather"; }
  // "8x1000x64_count5"; "_constant" follows when the indices are constant.
  std::string Problem() const override;
  std::vector<Operand> Operands(const Execution& execution) const override;
  // No arithmetic.
  std::int64_t AccumulationLength(Pass /*pass*/) const override { return 0; }
  PlannerTraits Traits() const override { return {.layout_policy = LayoutPolicy::kPlain}; }
  std::vector<Parameter> Parameters() const override;

  // The index as a position, or -1 when it is outside.
  std::int64_t PositionOf(double index) const {
    const auto extent = static_cast<double>(extents_.extent);
    if (!(index >= -extent && index < extent)) return -1;
    const auto whole = static_cast<std::int64_t>(index);
    return whole < 0 ? whole + extents_.extent : whole;
  }

 private:
  GatherExtents extents_;
  bool constant_;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_GATHER_GATHER_H_
