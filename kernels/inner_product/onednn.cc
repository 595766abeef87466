// Inner product on oneDNN.

#include "kernels/library/onednn.h"

#include "kernels/inner_product/inner_product.h"
#include "kernels/kernel/registry.h"

namespace topdnn {

namespace {

using onednn::DescOf;

std::unique_ptr<Kernel> MakeForward(const KernelRequest& request, const InnerProductOp& op) {
  using Forward = dnnl::inner_product_forward;
  dnnl::primitive_attr attributes = onednn::Attributes();
  if (op.epilogue().relu) {
    dnnl::post_ops post_ops;
    onednn::AppendRelu(post_ops, op.epilogue().bound);
    attributes.set_post_ops(post_ops);
  }
  // A descriptor of zeros means no bias.
  const auto pd = onednn::Describe<Forward>(
      attributes, onednn::ForwardKind(request), DescOf(request, Arg::kSrc),
      DescOf(request, Arg::kWeights), DescOf(request, Arg::kBias), DescOf(request, Arg::kDst));
  return onednn::MakePrimitiveKernel<Forward>(request, pd);
}

// The forward descriptor that a backward one needs as a hint: the same extents, free layouts.
dnnl::inner_product_forward::primitive_desc ForwardHint(const KernelRequest& request,
                                                        const InnerProductOp& op) {
  const auto any = [&](const Shape& shape) {
    return onednn::ToMemoryDesc({shape, request.execution.type, Layout::Any()});
  };
  return onednn::Describe<dnnl::inner_product_forward>(
      onednn::Attributes(), dnnl::prop_kind::forward_training, any(op.src_shape()),
      any(op.weights_shape()), any(op.dst_shape()));
}

std::unique_ptr<Kernel> MakeBackwardData(const KernelRequest& request, const InnerProductOp& op) {
  using BackwardData = dnnl::inner_product_backward_data;
  const auto pd = onednn::DescribeBackward<BackwardData>(
      onednn::Attributes(), ForwardHint(request, op), DescOf(request, Arg::kDiffSrc),
      DescOf(request, Arg::kWeights), DescOf(request, Arg::kDiffDst));
  return onednn::MakePrimitiveKernel<BackwardData>(request, pd);
}

std::unique_ptr<Kernel> MakeBackwardWeights(const KernelRequest& request,
                                            const InnerProductOp& op) {
  using BackwardWeights = dnnl::inner_product_backward_weights;
  const auto pd = onednn::DescribeBackward<BackwardWeights>(
      onednn::Attributes(), ForwardHint(request, op), DescOf(request, Arg::kSrc),
      DescOf(request, Arg::kDiffWeights), DescOf(request, Arg::kDiffBias),
      DescOf(request, Arg::kDiffDst));
  return onednn::MakePrimitiveKernel<BackwardWeights>(request, pd);
}

KernelOrRefusal MakeOneDnnInnerProduct(const KernelRequest& request, const InnerProductOp& op) {
  return onednn::OfferPass(request, op, MakeForward, MakeBackwardData, MakeBackwardWeights);
}

const KernelRegistration kInnerProductOneDnn("inner_product", "onednn", MakeOneDnnInnerProduct);

}  // namespace

}  // namespace topdnn
