// Resize on oneDNN's resampling primitive.

#include "kernels/onednn.h"

#include "kernels/registry.h"
#include "kernels/resize/resize.h"

namespace topdnn {

namespace {

constexpr auto kNearest = dnnl::algorithm::resampling_nearest;

KernelOrRefusal MakeResize(const KernelRequest& request) {
  const auto& op = dynamic_cast<const ResizeOp&>(*request.op);
  std::optional<Layout> layout = CommonLayout(request);
  if (!layout) return Refusal{"oneDNN's resampling needs one layout for both tensors"};
  if (layout->is_any()) layout = Layout::Plain(op.src_shape().rank());
  return onednn::Offer(request, [&]() -> KernelOrRefusal {
    const DataType type = request.execution.type;
    const auto src = onednn::ToMemoryDesc({op.src_shape(), type, *layout});
    const auto dst = onednn::ToMemoryDesc({op.dst_shape(), type, *layout});
    const bool forward = request.execution.pass == Pass::kForward;
    const auto prop = request.execution.training || !forward ? dnnl::prop_kind::forward_training
                                                             : dnnl::prop_kind::forward_inference;
    const auto forward_pd =
        onednn::Describe<dnnl::resampling_forward>(onednn::Attributes(), prop, kNearest, src, dst);
    if (forward) {
      return onednn::MakePrimitiveKernel<dnnl::resampling_forward>(
          request, forward_pd,
          {{Arg::kSrc, Direction::kIn, DNNL_ARG_SRC, src},
           {Arg::kDst, Direction::kOut, DNNL_ARG_DST, dst}});
    }
    const auto pd = onednn::DescribeBackward<dnnl::resampling_backward>(
        onednn::Attributes(), forward_pd, kNearest, src, dst);
    return onednn::MakePrimitiveKernel<dnnl::resampling_backward>(
        request, pd,
        {{Arg::kDiffDst, Direction::kIn, DNNL_ARG_DIFF_DST, dst},
         {Arg::kDiffSrc, Direction::kOut, DNNL_ARG_DIFF_SRC, src}});
  });
}

const KernelRegistration kRegistration("resize", "onednn", MakeResize);

}  // namespace

}  // namespace topdnn
