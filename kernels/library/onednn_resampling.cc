#include "kernels/library/onednn_resampling.h"

#include <optional>

namespace topdnn::onednn {

KernelOrRefusal MakeResampling(const KernelRequest& request, dnnl::algorithm algorithm,
                               const Shape& src_shape, const Shape& dst_shape) {
  std::optional<Layout> layout = CommonLayout(request);
  if (!layout) return Refusal{"oneDNN's resampling needs one layout for both tensors"};
  if (layout->is_any()) layout = Layout::Plain(src_shape.rank());
  return Offer(request, [&]() -> KernelOrRefusal {
    const DataType type = request.execution.type;
    const auto src = ToMemoryDesc({src_shape, type, *layout});
    const auto dst = ToMemoryDesc({dst_shape, type, *layout});
    const bool forward = request.execution.pass == Pass::kForward;
    const auto forward_pd =
        Describe<dnnl::resampling_forward>(Attributes(), ForwardKind(request), algorithm, src, dst);
    if (forward) {
      return MakePrimitiveKernel<dnnl::resampling_forward>(request, forward_pd);
    }
    const auto pd =
        DescribeBackward<dnnl::resampling_backward>(Attributes(), forward_pd, algorithm, src, dst);
    return MakePrimitiveKernel<dnnl::resampling_backward>(request, pd);
  });
}

}  // namespace topdnn::onednn
