// Layer normalization on oneDNN, whose primitive normalizes the last dimension: channels last, the
// pixels are the rows of a matrix.

#include "kernels/library/onednn.h"

#include "kernels/kernel/registry.h"
#include "kernels/layernorm/layernorm.h"

namespace topdnn {

namespace {

using LayerNormForward = dnnl::layer_normalization_forward;
using LayerNormBackward = dnnl::layer_normalization_backward;
using Flags = dnnl::normalization_flags;

Flags ScaleAndShift() { return Flags::use_scale | Flags::use_shift; }

struct LayerNormDescs {
  dnnl::memory::desc rows, statistics, channel;
  Layout channels_last;  // of `rows` in the operation's shape
};

LayerNormDescs DescsOf(const LayerNormOp& op, DataType type) {
  return {onednn::ToMemoryDesc({Shape{op.pixels(), op.channels()}, type, Layout::Plain(2)}),
          onednn::ToMemoryDesc({Shape{op.pixels()}, DataType::kF32, Layout::Plain(1)}),
          onednn::ToMemoryDesc({Shape{op.channels()}, DataType::kF32, Layout::Plain(1)}),
          Layout::ChannelsLast(op.shape().rank())};
}

LayerNormForward::primitive_desc ForwardDesc(const LayerNormOp& op, const LayerNormDescs& descs,
                                             bool training) {
  return onednn::Describe<LayerNormForward>(
      onednn::Attributes(),
      training ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference, descs.rows,
      descs.rows, descs.statistics, op.epsilon(), ScaleAndShift());
}

std::unique_ptr<Kernel> MakeForward(const KernelRequest& request, const LayerNormOp& op) {
  const LayerNormDescs descs = DescsOf(op, request.execution.type);
  const bool training = request.execution.training;
  const auto pd = ForwardDesc(op, descs, training);
  std::vector<onednn::PrimitiveOperand> operands = {
      {Arg::kSrc, Direction::kIn, DNNL_ARG_SRC, descs.rows, descs.channels_last},
      {Arg::kScale, Direction::kIn, DNNL_ARG_SCALE, descs.channel},
      {Arg::kShift, Direction::kIn, DNNL_ARG_SHIFT, descs.channel},
      {Arg::kDst, Direction::kOut, DNNL_ARG_DST, descs.rows, descs.channels_last}};
  if (training) {
    operands.push_back({Arg::kMean, Direction::kOut, DNNL_ARG_MEAN, descs.statistics});
    operands.push_back({Arg::kVariance, Direction::kOut, DNNL_ARG_VARIANCE, descs.statistics});
  }
  return onednn::MakePrimitiveKernel<LayerNormForward>(request, pd, std::move(operands));
}

std::unique_ptr<Kernel> MakeBackward(const KernelRequest& request, const LayerNormOp& op) {
  const LayerNormDescs descs = DescsOf(op, request.execution.type);
  const auto pd = onednn::DescribeBackward<LayerNormBackward>(
      onednn::Attributes(), ForwardDesc(op, descs, true), dnnl::prop_kind::backward, descs.rows,
      descs.rows, descs.rows, descs.statistics, op.epsilon(), ScaleAndShift());
  std::vector<onednn::PrimitiveOperand> operands = {
      {Arg::kSrc, Direction::kIn, DNNL_ARG_SRC, descs.rows, descs.channels_last},
      {Arg::kMean, Direction::kIn, DNNL_ARG_MEAN, descs.statistics},
      {Arg::kVariance, Direction::kIn, DNNL_ARG_VARIANCE, descs.statistics},
      {Arg::kScale, Direction::kIn, DNNL_ARG_SCALE, descs.channel},
      {Arg::kDiffDst, Direction::kIn, DNNL_ARG_DIFF_DST, descs.rows, descs.channels_last},
      {Arg::kDiffSrc, Direction::kOut, DNNL_ARG_DIFF_SRC, descs.rows, descs.channels_last},
      {Arg::kDiffScale, Direction::kOut, DNNL_ARG_DIFF_SCALE, descs.channel},
      {Arg::kDiffShift, Direction::kOut, DNNL_ARG_DIFF_SHIFT, descs.channel}};
  // (as in a batch normalization: any vector of C elements serves as the shift)
  if (onednn::kBackwardNeedsShift) {
    operands.push_back({Arg::kScale, Direction::kIn, DNNL_ARG_SHIFT, descs.channel});
  }
  return onednn::MakePrimitiveKernel<LayerNormBackward>(request, pd, std::move(operands));
}

KernelOrRefusal MakeOneDnnLayerNorm(const KernelRequest& request, const LayerNormOp& op) {
  const Layout wanted = Layout::ChannelsLast(op.shape().rank());
  for (const auto& [arg, layout] : request.layouts) {
    const auto operand = op.Find(request.execution, arg);
    const bool is_image = operand && operand->shape.rank() > 1;
    if (is_image && !layout.is_any() && !layout.SameFor(op.shape(), wanted)) {
      return Refusal{"oneDNN's layer normalization takes channels last, not " + layout.tag()};
    }
  }
  return onednn::Offer(request, [&]() -> KernelOrRefusal {
    if (request.execution.pass == Pass::kForward) return MakeForward(request, op);
    return MakeBackward(request, op);
  });
}

const KernelRegistration kLayerNormOneDnn("layernorm", "onednn", MakeOneDnnLayerNorm);

}  // namespace

}  // namespace topdnn
