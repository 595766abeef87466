// Batch normalization on oneDNN, with scale and shift as separate operands.

#include "kernels/library/onednn.h"

#include "kernels/batchnorm/batchnorm.h"
#include "kernels/kernel/registry.h"

namespace topdnn {

namespace {

using BatchNormForward = dnnl::batch_normalization_forward;
using BatchNormBackward = dnnl::batch_normalization_backward;
using Flags = dnnl::normalization_flags;

Flags FlagsOf(const BatchNormOp& op, bool given_statistics) {
  Flags flags = Flags::use_scale | Flags::use_shift;
  if (given_statistics) flags |= Flags::use_global_stats;
  if (op.relu()) flags |= Flags::fuse_norm_relu;
  return flags;
}

BatchNormForward::primitive_desc ForwardDesc(const BatchNormOp& op, const dnnl::memory::desc& data,
                                             bool training) {
  return onednn::Describe<BatchNormForward>(
      onednn::Attributes(),
      training ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference, data, data,
      op.epsilon(), FlagsOf(op, !training));
}

dnnl::memory::desc ChannelDesc(const BatchNormOp& op) {
  return onednn::ToMemoryDesc({Shape{op.channels()}, DataType::kF32, Layout::Plain(1)});
}

std::unique_ptr<Kernel> MakeForward(const KernelRequest& request, const BatchNormOp& op,
                                    const dnnl::memory::desc& data) {
  const bool training = request.execution.training;
  const BatchNormForward::primitive_desc pd = ForwardDesc(op, data, training);
  const dnnl::memory::desc channel = ChannelDesc(op);
  const Direction statistics = training ? Direction::kOut : Direction::kIn;
  std::vector<onednn::PrimitiveOperand> operands = {
      {Arg::kSrc, Direction::kIn, DNNL_ARG_SRC, pd.src_desc()},
      {Arg::kScale, Direction::kIn, DNNL_ARG_SCALE, channel},
      {Arg::kShift, Direction::kIn, DNNL_ARG_SHIFT, channel},
      {Arg::kMean, statistics, DNNL_ARG_MEAN, channel},
      {Arg::kVariance, statistics, DNNL_ARG_VARIANCE, channel},
      {Arg::kDst, Direction::kOut, DNNL_ARG_DST, pd.dst_desc()}};
  if (op.relu() && training) {
    operands.push_back(onednn::WrittenWorkspace(pd.workspace_desc()));
  }
  return onednn::MakePrimitiveKernel<BatchNormForward>(request, pd, std::move(operands));
}

KernelOrRefusal MakeBackward(const KernelRequest& request, const BatchNormOp& op,
                             const dnnl::memory::desc& data) {
  const auto pd = onednn::DescribeBackward<BatchNormBackward>(
      onednn::Attributes(), ForwardDesc(op, data, true), dnnl::prop_kind::backward, data, data,
      data, op.epsilon(), FlagsOf(op, false));
  const dnnl::memory::desc channel = ChannelDesc(op);
  std::vector<onednn::PrimitiveOperand> operands = {
      {Arg::kSrc, Direction::kIn, DNNL_ARG_SRC, pd.src_desc()},
      {Arg::kMean, Direction::kIn, DNNL_ARG_MEAN, channel},
      {Arg::kVariance, Direction::kIn, DNNL_ARG_VARIANCE, channel},
      {Arg::kScale, Direction::kIn, DNNL_ARG_SCALE, channel},
      {Arg::kDiffDst, Direction::kIn, DNNL_ARG_DIFF_DST, pd.diff_dst_desc()},
      {Arg::kDiffSrc, Direction::kOut, DNNL_ARG_DIFF_SRC, pd.diff_src_desc()},
      {Arg::kDiffScale, Direction::kOut, DNNL_ARG_DIFF_SCALE, channel},
      {Arg::kDiffShift, Direction::kOut, DNNL_ARG_DIFF_SHIFT, channel}};
  // No gradient depends on shift, so any vector of C elements serves as the shift.
  if (onednn::kBackwardNeedsShift) {
    operands.push_back({Arg::kScale, Direction::kIn, DNNL_ARG_SHIFT, channel});
  }
  if (op.relu()) {
    if (auto why = onednn::ReadWorkspace(request, pd.workspace_desc(), operands)) {
      return *std::move(why);
    }
  }
  return onednn::MakePrimitiveKernel<BatchNormBackward>(request, pd, std::move(operands));
}

KernelOrRefusal MakeOneDnnBatchNorm(const KernelRequest& request, const BatchNormOp& op) {
  if (op.relu_bound() != 0) return Refusal{"oneDNN fuses no bounded ReLU"};
  const auto layout = CommonLayout(request, op.shape());
  if (!layout) return Refusal{"oneDNN's batch normalization needs one layout for all images"};
  return onednn::Offer(request, [&]() -> KernelOrRefusal {
    const auto data = onednn::ToMemoryDesc({op.shape(), request.execution.type, *layout});
    if (request.execution.pass == Pass::kForward) return MakeForward(request, op, data);
    return MakeBackward(request, op, data);
  });
}

const KernelRegistration kBatchNormOneDnn("batchnorm", "onednn", MakeOneDnnBatchNorm);

}  // namespace

}  // namespace topdnn
