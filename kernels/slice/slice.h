// Parts and extensions of a tensor, where each index of the result selects an index of the source:
// ONNX's Slice, Split, Pad, Tile and Expand.

#ifndef TOPDNN_KERNELS_SLICE_SLICE_H_
#define TOPDNN_KERNELS_SLICE_SLICE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/op/op.h"

namespace topdnn {

// Index i of the result, 0 <= i < extent, selects index start + i * step of the source.
struct SliceAxis {
  std::int64_t start = 0, step = 1, extent = 1;

  bool operator==(const SliceAxis&) const = default;
};

// What an index outside the source selects: nothing (it is an error), the fill value, the nearest
// index, the index mirrored at the first or last one, or the index in the next copy of the source.
enum class SliceBorder { kNone, kFill, kEdge, kReflect, kWrap };

// Operands: forward src -> dst; backward_data diff_dst -> diff_src, where each element is the sum
// over those that selected it.
class SliceOp : public Op {
 public:
  // Throws std::invalid_argument for extents below 1, another number of axes than dimensions,
  // indices outside the source without a border, and a fill value that is not finite.
  SliceOp(Shape src, std::vector<SliceAxis> axes, SliceBorder border = SliceBorder::kNone,
          float fill = 0.0F);

  const Shape& src_shape() const { return src_; }
  const Shape& dst_shape() const { return dst_; }
  const std::vector<SliceAxis>& axes() const { return axes_; }
  SliceBorder border() const { return border_; }
  float fill() const { return fill_; }
  // The index of the source that index `i` of dimension d selects; -1: the fill value.
  std::int64_t SourceOf(int d, std::int64_t i) const;

  std::string_view kind() const override { return "slice"; }
  // "8x64x28x28_start0x32x0x0_step1x1x1x1_extent8x32x28x28"; then "_fill0", "_edge", "_reflect" or
  // "_wrap".
  std::string Problem() const override;
  std::vector<Operand> Operands(const Execution& execution) const override;
  // Forward: no arithmetic. Backward: one addition per element of diff_dst.
  Arithmetic ArithmeticOf(const Execution& execution) const override;
  // Without repetitions, an element is selected once at most.
  std::int64_t AccumulationLength(Pass pass) const override {
    return pass == Pass::kForward || !Repeats() ? 0 : dst_.elements();
  }

 private:
  // Whether several indices of the result may select the same one of the source.
  bool Repeats() const;

  Shape src_;
  std::vector<SliceAxis> axes_;
  SliceBorder border_;
  float fill_;
  Shape dst_;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_SLICE_SLICE_H_
