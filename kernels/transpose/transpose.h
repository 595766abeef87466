// Transposition: a tensor with its dimensions in another order (ONNX and TensorFlow Transpose,
// PyTorch permute). A reorder changes a tensor's layout in memory; a transposition changes the
// tensor.

#ifndef TOPDNN_KERNELS_TRANSPOSE_TRANSPOSE_H_
#define TOPDNN_KERNELS_TRANSPOSE_TRANSPOSE_H_

#include <string>
#include <vector>

#include "kernels/op/op.h"
#include "kernels/tensor/permutation.h"

namespace topdnn {

// One pass of a transposition: dimension i of `to` is dimension order[i] of `from`.
struct Transposition {
  Arg from, to;
  Shape shape;  // shape of `from`
  std::vector<int> order;

  // The permutation of the memory between two unblocked layouts.
  Permutation Between(const Layout& from_layout, const Layout& to_layout) const;
};

// Operands: forward src -> dst, whose dimension i is src's dimension order[i]; backward_data
// diff_dst -> diff_src, the inverse.
class TransposeOp : public Op {
 public:
  // Throws std::invalid_argument for extents below 1, a scalar, more than 26 dimensions (letters of
  // a layout), and an order that does not contain each dimension once.
  TransposeOp(Shape src, std::vector<int> order);

  const Shape& src_shape() const { return src_; }
  const Shape& dst_shape() const { return dst_; }
  const std::vector<int>& order() const { return order_; }
  Transposition In(Pass pass) const;

  std::string_view kind() const override { return "transpose"; }
  std::string Problem() const override;  // "8x64x28x28_order0x2x3x1"
  std::vector<Operand> Operands(const Execution& execution) const override;
  // No arithmetic. Every byte is read once and written once.
  std::int64_t AccumulationLength(Pass /*pass*/) const override { return 0; }

 private:
  Shape src_;
  std::vector<int> order_;
  Shape dst_;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_TRANSPOSE_TRANSPOSE_H_
