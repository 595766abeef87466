// Transposed convolution ("deconvolution") over one to three spatial dimensions, without bias:
// segmentation networks and generators enlarge images with it.

#ifndef TOPDNN_KERNELS_CONV_TRANSPOSE_CONV_TRANSPOSE_H_
#define TOPDNN_KERNELS_CONV_TRANSPOSE_CONV_TRANSPOSE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/conv_nd/conv_nd.h"
#include "kernels/op/op.h"

namespace topdnn {

// The convolution that it transposes goes the other way: from dst (N, C, ...) to src (N, K, ...).
// Each element of src, times the kernel, is added to dst where that convolution would read:
// dst[o * stride - pad_before + tap * dilation] += src[o] * weights[tap] along each axis. Operands:
// forward src, weights (K, C/G, kernel...) -> dst; backward_data diff_dst, weights -> diff_src;
// backward_weights src, diff_dst -> diff_weights. With two axes and groups the weights are (G, K/G,
// C/G, R, S), as in ConvOp.
//
// Source: ONNX's ConvTranspose. Its output_padding makes the extent of dst larger: several extents
// of the convolution's source have the same number of outputs.
class ConvTransposeOp : public Op {
 public:
  // `convolution` has the extents of dst in its axes. Throws std::invalid_argument, in one line,
  // for an impossible geometry.
  explicit ConvTransposeOp(ConvNdExtents convolution);

  // Of the convolution: `c` and the axes' extents are those of dst, `k` and the outputs of src.
  const ConvNdExtents& extents() const { return extents_; }
  // A ConvOp for two axes, otherwise a ConvNdOp.
  const std::shared_ptr<const Op>& convolution() const { return convolution_; }

  // The pass of the convolution that computes a pass of this operation, and an operand of it in the
  // convolution's terms.
  static Pass PassOfConvolution(Pass pass);
  static Arg ArgOfConvolution(Arg arg);

  std::string_view kind() const override { return "conv_transpose"; }
  // The problem of the ConvNdOp with these extents.
  std::string Problem() const override;
  std::vector<Operand> Operands(const Execution& execution) const override;
  // That of the convolution's pass.
  Arithmetic ArithmeticOf(const Execution& execution) const override;
  std::int64_t AccumulationLength(Pass pass) const override;
  PlannerTraits Traits() const override { return {.layout_policy = LayoutPolicy::kChooses}; }
  std::vector<Parameter> Parameters() const override;

 private:
  ConvNdExtents extents_;
  std::shared_ptr<const Op> convolution_;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_CONV_TRANSPOSE_CONV_TRANSPOSE_H_
