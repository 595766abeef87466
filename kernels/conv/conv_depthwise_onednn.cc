// The two convolutions in oneDNN's convolution with a depthwise post-operation.

#include <string_view>
#include <utility>
#include <vector>

#include "kernels/conv/conv_depthwise.h"
#include "kernels/kernel/registry.h"
#include "kernels/library/onednn.h"

namespace topdnn {

namespace {

dnnl::primitive_attr AttributesOfBoth(const ConvDepthwiseOp& op) {
  dnnl::primitive_attr attributes = onednn::Attributes();
  dnnl::post_ops post_ops;
  const ConvEpilogue& first = op.pointwise().epilogue();
  const ConvEpilogue& second = op.depthwise().epilogue();
  if (first.relu) onednn::AppendRelu(post_ops, first.bound);
  onednn::AppendDepthwise(post_ops, op.depthwise().extents().stride_h, second.bias);
  if (second.relu) onednn::AppendRelu(post_ops, second.bound);
  attributes.set_post_ops(post_ops);
  return attributes;
}

dnnl::memory::desc DescOfDepthwise(const dnnl::convolution_forward::primitive_desc& pd, int arg) {
  return pd.query_md(dnnl::query::exec_arg_md, DNNL_ARG_ATTR_POST_OP_DW | arg);
}

KernelOrRefusal MakeFused(const KernelRequest& request, const ConvDepthwiseOp& op) {
  const auto between = onednn::ToMemoryDesc(
      {op.pointwise().dst_shape(), request.execution.type, request.LayoutOf(Arg::kDst)});
  const dnnl::memory::dims ones{1, 1}, zeros{0, 0};
  const auto pd = onednn::Describe<dnnl::convolution_forward>(
      AttributesOfBoth(op), onednn::ForwardKind(request), dnnl::algorithm::convolution_direct,
      onednn::DescOf(request, Arg::kSrc), onednn::DescOf(request, Arg::kWeights),
      onednn::DescOf(request, Arg::kBias), between, ones, zeros, zeros, zeros);
  // Where the tensor between fits in the caches, oneDNN runs two kernels, one after the other. As
  // two stages, these are measured separately.
  if (std::string_view(pd.impl_info_str()).starts_with("ref_fused")) {
    return Refusal{"oneDNN computes the two convolutions by two kernels"};
  }
  std::vector<onednn::PrimitiveOperand> operands = {
      {Arg::kSrc, Direction::kIn, DNNL_ARG_SRC, pd.src_desc()},
      {Arg::kWeights, Direction::kIn, DNNL_ARG_WEIGHTS, pd.weights_desc()}};
  if (op.pointwise().epilogue().bias) {
    operands.push_back({Arg::kBias, Direction::kIn, DNNL_ARG_BIAS, pd.bias_desc()});
  }
  operands.push_back({ConvDepthwiseOp::OfDepthwise(Arg::kWeights), Direction::kIn,
                      DNNL_ARG_ATTR_POST_OP_DW | DNNL_ARG_WEIGHTS,
                      DescOfDepthwise(pd, DNNL_ARG_WEIGHTS)});
  if (op.depthwise().epilogue().bias) {
    operands.push_back({ConvDepthwiseOp::OfDepthwise(Arg::kBias), Direction::kIn,
                        DNNL_ARG_ATTR_POST_OP_DW | DNNL_ARG_BIAS,
                        DescOfDepthwise(pd, DNNL_ARG_BIAS)});
  }
  operands.push_back({Arg::kDst, Direction::kOut, DNNL_ARG_DST, pd.dst_desc()});
  return onednn::MakePrimitiveKernel<dnnl::convolution_forward>(request, pd, std::move(operands));
}

KernelOrRefusal MakeOneDnnConvDepthwise(const KernelRequest& request, const ConvDepthwiseOp& op) {
  if (request.execution.type != DataType::kF32) {
    return Refusal{"oneDNN's fusion of a depthwise convolution is used in f32 only"};
  }
  return onednn::Offer(request, [&] { return MakeFused(request, op); });
}

const KernelRegistration kDepthwiseOneDnn("conv_depthwise", "onednn", MakeOneDnnConvDepthwise);

}  // namespace

}  // namespace topdnn
