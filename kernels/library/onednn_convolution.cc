#include "kernels/library/onednn_convolution.h"

namespace topdnn::onednn {

namespace {

using ConvolutionForward = dnnl::convolution_forward;

struct Geometry {
  explicit Geometry(const std::vector<SpatialAxis>& axes) {
    for (const SpatialAxis& axis : axes) {
      strides.push_back(axis.stride);
      dilates.push_back(axis.dilation - 1);  // oneDNN counts the zeros between taps
      pad_before.push_back(axis.pad_before);
      pad_after.push_back(axis.pad_after);
    }
  }

  dnnl::memory::dims strides, dilates, pad_before, pad_after;
};

dnnl::memory::desc WeightsDesc(const KernelRequest& request, Arg arg, const Shape& shape) {
  const Operand operand = *request.op->Find(request.execution, arg);
  if (operand.shape == shape) return DescOf(request, arg);
  return ToMemoryDesc({shape, operand.type, Layout::Plain(shape.rank())});
}

// The forward descriptor that a backward one needs as a hint: the same geometry, free layouts. Its
// weights have the type of src. oneDNN has no forward pass with src in bf16 and weights in f32, the
// type of diff_weights.
ConvolutionForward::primitive_desc Hint(const KernelRequest& request,
                                        const Convolution& convolution, const Geometry& g) {
  const auto any = [&](const Shape& shape) {
    return ToMemoryDesc({shape, request.execution.type, Layout::Any()});
  };
  return Describe<ConvolutionForward>(Attributes(), dnnl::prop_kind::forward_training,
                                      convolution.algorithm, any(convolution.src),
                                      any(convolution.weights), any(convolution.dst), g.strides,
                                      g.dilates, g.pad_before, g.pad_after);
}

}  // namespace

// A descriptor of zeros means no bias.
std::unique_ptr<Kernel> MakeConvolution(const KernelRequest& request,
                                        const Convolution& convolution) {
  using BackwardData = dnnl::convolution_backward_data;
  using BackwardWeights = dnnl::convolution_backward_weights;
  const Geometry g(convolution.axes);
  const dnnl::algorithm algorithm = convolution.algorithm;
  const auto desc = [&](Arg arg) { return DescOf(request, arg); };
  const auto weights = [&](Arg arg) { return WeightsDesc(request, arg, convolution.weights); };
  switch (request.execution.pass) {
    case Pass::kBackwardData: {
      const auto pd = DescribeBackward<BackwardData>(
          Attributes(), Hint(request, convolution, g), algorithm, desc(Arg::kDiffSrc),
          weights(Arg::kWeights), desc(Arg::kDiffDst), g.strides, g.dilates, g.pad_before,
          g.pad_after);
      return MakePrimitiveKernel<BackwardData>(request, pd);
    }
    case Pass::kBackwardWeights: {
      const auto pd = DescribeBackward<BackwardWeights>(
          Attributes(), Hint(request, convolution, g), algorithm, desc(Arg::kSrc),
          weights(Arg::kDiffWeights), desc(Arg::kDiffBias), desc(Arg::kDiffDst), g.strides,
          g.dilates, g.pad_before, g.pad_after);
      return MakePrimitiveKernel<BackwardWeights>(request, pd);
    }
    case Pass::kForward:
      break;
  }
  const auto pd = Describe<ConvolutionForward>(convolution.attributes, ForwardKind(request),
                                               algorithm, desc(Arg::kSrc), weights(Arg::kWeights),
                                               desc(Arg::kBias), desc(Arg::kDst), g.strides,
                                               g.dilates, g.pad_before, g.pad_after);
  return MakePrimitiveKernel<ConvolutionForward>(request, pd);
}

}  // namespace topdnn::onednn
