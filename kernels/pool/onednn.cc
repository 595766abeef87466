// Pooling on oneDNN.

#include "kernels/library/onednn.h"

#include <algorithm>

#include "kernels/kernel/registry.h"
#include "kernels/pool/pool.h"

namespace topdnn {

namespace {

using PoolForward = dnnl::pooling_forward;
using PoolBackward = dnnl::pooling_backward;

dnnl::algorithm AlgorithmOf(PoolAlgorithm algorithm) {
  switch (algorithm) {
    case PoolAlgorithm::kAverage:
      return dnnl::algorithm::pooling_avg_exclude_padding;
    case PoolAlgorithm::kAverageOfPadding:
      return dnnl::algorithm::pooling_avg_include_padding;
    case PoolAlgorithm::kMax:
      break;
  }
  return dnnl::algorithm::pooling_max;
}

// oneDNN rounds output extents down. When the operation rounds up, the last window needs more
// trailing padding.
std::int64_t PadAfter(std::int64_t input, std::int64_t outputs, std::int64_t kernel,
                      std::int64_t stride, std::int64_t pad_before, std::int64_t pad_after) {
  return std::max(pad_after, (outputs - 1) * stride + kernel - input - pad_before);
}

struct PoolGeometry {
  explicit PoolGeometry(const PoolExtents& e)
      : strides{e.stride_h, e.stride_w},
        kernel{e.r, e.s},
        pad_before{e.pad_top, e.pad_left},
        pad_after{PadAfter(e.h, e.oh(), e.r, e.stride_h, e.pad_top, e.pad_bottom),
                  PadAfter(e.w, e.ow(), e.s, e.stride_w, e.pad_left, e.pad_right)} {}

  dnnl::memory::dims strides, kernel, pad_before, pad_after;
  dnnl::memory::dims dilation = {0, 0};  // zeros between the elements of a window
};

PoolForward::primitive_desc ForwardDesc(const PoolOp& op, dnnl::prop_kind prop,
                                        const dnnl::memory::desc& src,
                                        const dnnl::memory::desc& dst) {
  const PoolGeometry g(op.extents());
  return onednn::Describe<PoolForward>(onednn::Attributes(), prop, AlgorithmOf(op.algorithm()), src,
                                       dst, g.strides, g.kernel, g.dilation, g.pad_before,
                                       g.pad_after);
}

std::unique_ptr<Kernel> MakeForward(const KernelRequest& request, const PoolOp& op) {
  const bool workspace = op.Find(request.execution, Arg::kWorkspace).has_value();
  const Layout layout = FirstSettledLayout(request, 4);
  const auto pd =
      ForwardDesc(op, onednn::ForwardKind(request), onednn::DescOf(request, Arg::kSrc, layout),
                  onednn::DescOf(request, Arg::kDst, layout));
  std::vector<onednn::PrimitiveOperand> operands = {
      {Arg::kSrc, Direction::kIn, DNNL_ARG_SRC, pd.src_desc()},
      {Arg::kDst, Direction::kOut, DNNL_ARG_DST, pd.dst_desc()}};
  if (workspace) {
    operands.push_back({Arg::kWorkspace, Direction::kOut, DNNL_ARG_WORKSPACE, pd.workspace_desc()});
  }
  return onednn::MakePrimitiveKernel<PoolForward>(request, pd, std::move(operands));
}

KernelOrRefusal MakeBackward(const KernelRequest& request, const PoolOp& op) {
  const Layout layout = FirstSettledLayout(request, 4);
  const dnnl::memory::desc diff_src = onednn::DescOf(request, Arg::kDiffSrc, layout);
  const dnnl::memory::desc diff_dst = onednn::DescOf(request, Arg::kDiffDst, layout);
  const PoolGeometry g(op.extents());
  // The gradients have the same descriptors as the tensors that they are gradients of, so they also
  // describe the hint.
  const auto pd = onednn::DescribeBackward<PoolBackward>(
      onednn::Attributes(), ForwardDesc(op, dnnl::prop_kind::forward_training, diff_src, diff_dst),
      AlgorithmOf(op.algorithm()), diff_src, diff_dst, g.strides, g.kernel, g.dilation,
      g.pad_before, g.pad_after);
  std::vector<onednn::PrimitiveOperand> operands = {
      {Arg::kDiffDst, Direction::kIn, DNNL_ARG_DIFF_DST, pd.diff_dst_desc()},
      {Arg::kDiffSrc, Direction::kOut, DNNL_ARG_DIFF_SRC, pd.diff_src_desc()}};
  if (op.algorithm() == PoolAlgorithm::kMax) {
    const Layout settled = request.LayoutOf(Arg::kWorkspace);
    const Layout own = onednn::ToLayout(pd.workspace_desc());
    if (!settled.is_any() && !(settled == own)) {
      return Refusal{"oneDNN reads the workspace of its pooling in layout " + own.tag() +
                     ", not in " + settled.tag()};
    }
    operands.push_back({Arg::kWorkspace, Direction::kIn, DNNL_ARG_WORKSPACE, pd.workspace_desc()});
  }
  return onednn::MakePrimitiveKernel<PoolBackward>(request, pd, std::move(operands));
}

// Whether a window reaches beyond the padding. oneDNN would count that part as padding.
bool Overhangs(const PoolExtents& e) {
  const PoolGeometry g(e);
  return g.pad_after[0] > e.pad_bottom || g.pad_after[1] > e.pad_right;
}

KernelOrRefusal MakeOneDnnPool(const KernelRequest& request, const PoolOp& op) {
  if (op.algorithm() == PoolAlgorithm::kAverageOfPadding && Overhangs(op.extents())) {
    return Refusal{"oneDNN counts what is beyond the padding, and ceil mode excludes it"};
  }
  return onednn::Offer(request, [&]() -> KernelOrRefusal {
    if (request.execution.pass == Pass::kBackwardData) return MakeBackward(request, op);
    return MakeForward(request, op);
  });
}

const KernelRegistration kPoolOneDnn("pool", "onednn", MakeOneDnnPool);

}  // namespace

}  // namespace topdnn
