// Convolution over one to three spatial dimensions on oneDNN.

#include "kernels/library/onednn.h"

#include <memory>
#include <utility>
#include <vector>

#include "kernels/conv_nd/conv_nd.h"
#include "kernels/kernel/registry.h"

namespace topdnn {

namespace {

using onednn::DescOf;
using Forward = dnnl::convolution_forward;
constexpr auto kDirect = dnnl::algorithm::convolution_direct;

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

// With groups, oneDNN's weights are (G, K/G, C/G, kernel...), the same bytes in row-major order.
Shape WeightsShape(const ConvNdOp& op) {
  const std::int64_t groups = op.extents().groups;
  if (groups == 1) return op.weights_shape();
  std::vector<std::int64_t> extents = op.weights_shape().extents();
  extents[0] /= groups;
  extents.insert(extents.begin(), groups);
  return Shape(std::move(extents));
}

dnnl::memory::desc WeightsDesc(const KernelRequest& request, const ConvNdOp& op, Arg arg) {
  if (op.extents().groups == 1) return DescOf(request, arg);
  const Shape shape = WeightsShape(op);
  const DataType type = request.op->Find(request.execution, arg)->type;
  return onednn::ToMemoryDesc({shape, type, Layout::Plain(shape.rank())});
}

Forward::primitive_desc ForwardDesc(const KernelRequest& request, const Geometry& g,
                                    const dnnl::memory::desc& src,
                                    const dnnl::memory::desc& weights,
                                    const dnnl::memory::desc& dst) {
  return onednn::Describe<Forward>(onednn::Attributes(), onednn::ForwardKind(request), kDirect, src,
                                   weights, dst, g.strides, g.dilates, g.pad_before, g.pad_after);
}

// The forward descriptor that a backward one needs as a hint: the same geometry, free layouts. Its
// weights have the type of src. oneDNN has no forward pass with src in bf16 and weights in f32, the
// type of diff_weights.
Forward::primitive_desc Hint(const KernelRequest& request, const ConvNdOp& op, const Geometry& g) {
  const auto any = [&](const Shape& shape) {
    return onednn::ToMemoryDesc({shape, request.execution.type, Layout::Any()});
  };
  return ForwardDesc(request, g, any(op.src_shape()), any(WeightsShape(op)), any(op.dst_shape()));
}

std::unique_ptr<Kernel> MakeForward(const KernelRequest& request, const ConvNdOp& op) {
  const Geometry g(op.extents().axes);
  const auto pd = ForwardDesc(request, g, DescOf(request, Arg::kSrc),
                              WeightsDesc(request, op, Arg::kWeights), DescOf(request, Arg::kDst));
  return onednn::MakePrimitiveKernel<Forward>(request, pd);
}

std::unique_ptr<Kernel> MakeBackwardData(const KernelRequest& request, const ConvNdOp& op) {
  const Geometry g(op.extents().axes);
  const dnnl::memory::desc weights = WeightsDesc(request, op, Arg::kWeights);
  const auto pd = onednn::DescribeBackward<dnnl::convolution_backward_data>(
      onednn::Attributes(), Hint(request, op, g), kDirect, DescOf(request, Arg::kDiffSrc), weights,
      DescOf(request, Arg::kDiffDst), g.strides, g.dilates, g.pad_before, g.pad_after);
  return onednn::MakePrimitiveKernel<dnnl::convolution_backward_data>(request, pd);
}

std::unique_ptr<Kernel> MakeBackwardWeights(const KernelRequest& request, const ConvNdOp& op) {
  const Geometry g(op.extents().axes);
  const dnnl::memory::desc weights = WeightsDesc(request, op, Arg::kDiffWeights);
  const auto pd = onednn::DescribeBackward<dnnl::convolution_backward_weights>(
      onednn::Attributes(), Hint(request, op, g), kDirect, DescOf(request, Arg::kSrc), weights,
      DescOf(request, Arg::kDiffDst), g.strides, g.dilates, g.pad_before, g.pad_after);
  return onednn::MakePrimitiveKernel<dnnl::convolution_backward_weights>(request, pd);
}

KernelOrRefusal MakeConvNd(const KernelRequest& request) {
  const auto& op = dynamic_cast<const ConvNdOp&>(*request.op);
  for (const Arg arg : {Arg::kWeights, Arg::kDiffWeights}) {
    const Layout layout = request.LayoutOf(arg);
    if (op.extents().groups != 1 && !layout.is_any() && !layout.IsPlainFor(op.weights_shape())) {
      return Refusal{"oneDNN's weights of several groups are row-major here, not in layout " +
                     layout.tag()};
    }
  }
  return onednn::OfferPass(request, op, MakeForward, MakeBackwardData, MakeBackwardWeights);
}

const KernelRegistration kOneDnn("conv_nd", "onednn", MakeConvNd);

}  // namespace

}  // namespace topdnn
