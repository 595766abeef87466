// Inner product on oneDNN.

#include "kernels/onednn.h"

#include "kernels/inner_product/inner_product.h"
#include "kernels/registry.h"

namespace topdnn {

namespace {

using onednn::DescOf;

std::unique_ptr<Kernel> MakeForward(const KernelRequest& request, const InnerProductOp& op) {
  using Forward = dnnl::inner_product_forward;
  const auto prop = request.execution.training ? dnnl::prop_kind::forward_training
                                               : dnnl::prop_kind::forward_inference;
  dnnl::primitive_attr attributes = onednn::Attributes();
  if (op.epilogue().relu) {
    dnnl::post_ops post_ops;
    onednn::AppendRelu(post_ops, op.epilogue().bound);
    attributes.set_post_ops(post_ops);
  }
  // A descriptor of zeros means no bias.
  const auto pd = onednn::Describe<Forward>(
      attributes, prop, DescOf(request, Arg::kSrc), DescOf(request, Arg::kWeights),
      DescOf(request, Arg::kBias), DescOf(request, Arg::kDst));
  std::vector<onednn::PrimitiveOperand> operands = {
      {Arg::kSrc, Direction::kIn, DNNL_ARG_SRC, pd.src_desc()},
      {Arg::kWeights, Direction::kIn, DNNL_ARG_WEIGHTS, pd.weights_desc()}};
  if (op.epilogue().bias) {
    operands.push_back({Arg::kBias, Direction::kIn, DNNL_ARG_BIAS, pd.bias_desc()});
  }
  operands.push_back({Arg::kDst, Direction::kOut, DNNL_ARG_DST, pd.dst_desc()});
  return onednn::MakePrimitiveKernel<Forward>(request, pd, std::move(operands));
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
  return onednn::MakePrimitiveKernel<BackwardData>(
      request, pd,
      {{Arg::kDiffDst, Direction::kIn, DNNL_ARG_DIFF_DST, pd.diff_dst_desc()},
       {Arg::kWeights, Direction::kIn, DNNL_ARG_WEIGHTS, pd.weights_desc()},
       {Arg::kDiffSrc, Direction::kOut, DNNL_ARG_DIFF_SRC, pd.diff_src_desc()}});
}

std::unique_ptr<Kernel> MakeBackwardWeights(const KernelRequest& request,
                                            const InnerProductOp& op) {
  using BackwardWeights = dnnl::inner_product_backward_weights;
  const auto pd = onednn::DescribeBackward<BackwardWeights>(
      onednn::Attributes(), ForwardHint(request, op), DescOf(request, Arg::kSrc),
      DescOf(request, Arg::kDiffWeights), DescOf(request, Arg::kDiffBias),
      DescOf(request, Arg::kDiffDst));
  std::vector<onednn::PrimitiveOperand> operands = {
      {Arg::kSrc, Direction::kIn, DNNL_ARG_SRC, pd.src_desc()},
      {Arg::kDiffDst, Direction::kIn, DNNL_ARG_DIFF_DST, pd.diff_dst_desc()},
      {Arg::kDiffWeights, Direction::kOut, DNNL_ARG_DIFF_WEIGHTS, pd.diff_weights_desc()}};
  if (op.epilogue().bias) {
    operands.push_back({Arg::kDiffBias, Direction::kOut, DNNL_ARG_DIFF_BIAS, pd.diff_bias_desc()});
  }
  return onednn::MakePrimitiveKernel<BackwardWeights>(request, pd, std::move(operands));
}

KernelOrRefusal MakeOneDnnInnerProduct(const KernelRequest& request) {
  const auto& op = dynamic_cast<const InnerProductOp&>(*request.op);
  return onednn::Offer(request, [&] {
    switch (request.execution.pass) {
      case Pass::kBackwardData:
        return MakeBackwardData(request, op);
      case Pass::kBackwardWeights:
        return MakeBackwardWeights(request, op);
      case Pass::kForward:
        break;
    }
    return MakeForward(request, op);
  });
}

const KernelRegistration kOneDnn("inner_product", "onednn", MakeOneDnnInnerProduct);

}  // namespace

}  // namespace topdnn
