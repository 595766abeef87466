// Local response normalization on oneDNN.

#include "kernels/library/onednn.h"

#include <optional>

#include "kernels/kernel/registry.h"
#include "kernels/lrn/lrn.h"

namespace topdnn {

namespace {

using LrnForward = dnnl::lrn_forward;
using LrnBackward = dnnl::lrn_backward;

constexpr auto kAcross = dnnl::algorithm::lrn_across_channels;

LrnForward::primitive_desc ForwardDesc(const KernelRequest& request, const LrnSettings& s,
                                       const dnnl::memory::desc& data) {
  return onednn::Describe<LrnForward>(onednn::Attributes(), onednn::ForwardKind(request), kAcross,
                                      data, data, s.size, s.alpha, s.beta, s.k);
}

std::unique_ptr<Kernel> MakeForward(const KernelRequest& request, const LrnSettings& settings,
                                    const dnnl::memory::desc& data) {
  const LrnForward::primitive_desc pd = ForwardDesc(request, settings, data);
  std::vector<onednn::PrimitiveOperand> operands = {
      {Arg::kSrc, Direction::kIn, DNNL_ARG_SRC, pd.src_desc()},
      {Arg::kDst, Direction::kOut, DNNL_ARG_DST, pd.dst_desc()}};
  if (request.execution.training) {
    operands.push_back(onednn::WrittenWorkspace(pd.workspace_desc()));
  }
  return onednn::MakePrimitiveKernel<LrnForward>(request, pd, std::move(operands));
}

KernelOrRefusal MakeBackward(const KernelRequest& request, const LrnSettings& s,
                             const dnnl::memory::desc& data) {
  const auto pd = onednn::DescribeBackward<LrnBackward>(
      onednn::Attributes(), ForwardDesc(request, s, data), kAcross, data, data, data, s.size,
      s.alpha, s.beta, s.k);
  std::vector<onednn::PrimitiveOperand> operands = {
      {Arg::kSrc, Direction::kIn, DNNL_ARG_SRC, data},
      {Arg::kDiffDst, Direction::kIn, DNNL_ARG_DIFF_DST, pd.diff_dst_desc()},
      {Arg::kDiffSrc, Direction::kOut, DNNL_ARG_DIFF_SRC, pd.diff_src_desc()}};
  if (auto why = onednn::ReadWorkspace(request, pd.workspace_desc(), operands)) {
    return *std::move(why);
  }
  return onednn::MakePrimitiveKernel<LrnBackward>(request, pd, std::move(operands));
}

// oneDNN 2.6.3's backward code for channels-last images is wrong in some cases: seen on AVX-512 in
// f32 and bf16, for all batches and images that were tried.
std::optional<Refusal> BackwardDefect(const LrnOp& op, const Layout& layout) {
  if (!layout.SameFor(op.shape(), Layout::ChannelsLast(op.shape().rank()))) return std::nullopt;
  if (op.settings().size == 1) {
    return Refusal{"oneDNN's backward lrn in NHWC crashes for a window of one channel"};
  }
  if (op.settings().size > 5 && op.channels() > 16 && op.channels() % 16 != 0) {
    return Refusal{
        "oneDNN's backward lrn in NHWC is wrong for windows above 5 when the channels are not a "
        "multiple of 16"};
  }
  return std::nullopt;
}

KernelOrRefusal MakeOneDnnLrn(const KernelRequest& request, const LrnOp& op) {
  if (op.settings().size % 2 == 0) {
    return Refusal{"oneDNN's window of channels is symmetric: the size must be odd"};
  }
  const auto layout = CommonLayout(request, op.shape());
  if (!layout) return Refusal{"oneDNN's lrn needs one layout for all images"};
  // In training, forward is refused too, because no other backend can read oneDNN's workspace.
  if (request.execution.training || request.execution.pass == Pass::kBackwardData) {
    if (auto why = BackwardDefect(op, *layout)) return *std::move(why);
  }
  return onednn::Offer(request, [&]() -> KernelOrRefusal {
    const auto data = onednn::ToMemoryDesc({op.shape(), request.execution.type, *layout});
    if (request.execution.pass == Pass::kForward) return MakeForward(request, op.settings(), data);
    return MakeBackward(request, op.settings(), data);
  });
}

const KernelRegistration kLrnOneDnn("lrn", "onednn", MakeOneDnnLrn);

}  // namespace

}  // namespace topdnn
