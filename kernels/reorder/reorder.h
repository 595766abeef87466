// Reorder: writes the same logical tensor in another layout or element type. The request must
// settle both layouts.

#ifndef TOPDNN_KERNELS_REORDER_REORDER_H_
#define TOPDNN_KERNELS_REORDER_REORDER_H_

#include <string>
#include <vector>

#include "kernels/op/op.h"

namespace topdnn {

// Operands: forward src -> dst, of the same shape.
class ReorderOp : public Op {
 public:
  // Throws std::invalid_argument for extents below 1 or a tensor that is too large.
  ReorderOp(Shape shape, DataType from, DataType to);

  std::string_view kind() const override { return "reorder"; }
  // "8x64x56x56_fromf32_tobf16".
  std::string Problem() const override;
  std::vector<Operand> Operands(const Execution& execution) const override;
  // No arithmetic. The bytes are those of both tensors.
  // A narrower type rounds.
  std::int64_t AccumulationLength(Pass /*pass*/) const override {
    return SizeOf(to_) < SizeOf(from_) ? 1 : 0;
  }

 private:
  Shape shape_;
  DataType from_, to_;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_REORDER_REORDER_H_
