// Flatten: turns an image in any layout into the row of features that an inner product reads, or,
// in general, gives a tensor another shape (ONNX's Reshape).

#ifndef TOPDNN_KERNELS_FLATTEN_FLATTEN_H_
#define TOPDNN_KERNELS_FLATTEN_FLATTEN_H_

#include <string>
#include <vector>

#include "kernels/op/op.h"

namespace topdnn {

// Operands: forward src (N, C, H, W), or any rank from 1 on, -> dst (N, C*H*W), or the shape that
// is given, row-major; backward_data diff_dst -> diff_src. The elements keep their row-major order,
// so for a row-major source it is a copy.
class FlattenOp : public Op {
 public:
  // Throws std::invalid_argument for extents below 1, and for a `dst` of another size.
  explicit FlattenOp(Shape src);
  FlattenOp(Shape src, Shape dst);

  const Shape& src_shape() const { return src_; }
  const Shape& dst_shape() const { return dst_; }

  std::string_view kind() const override { return "flatten"; }
  std::string Problem() const override;  // "8x64x7x7", "1x112x56x56_to1x4x28x56x56"
  std::vector<Operand> Operands(const Execution& execution) const override;
  // No arithmetic. Every byte is read once and written once.
  std::int64_t AccumulationLength(Pass /*pass*/) const override { return 0; }

 private:
  Shape src_, dst_;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_FLATTEN_FLATTEN_H_
