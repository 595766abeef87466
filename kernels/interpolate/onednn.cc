// Interpolation on oneDNN's resampling primitive where it computes the same, otherwise as loops.

#include "kernels/onednn.h"

#include <optional>

#include "kernels/interpolate/interpolate.h"
#include "kernels/interpolate/loops.h"
#include "kernels/registry.h"

namespace topdnn {

namespace {

constexpr auto kLinear = dnnl::algorithm::resampling_linear;

// oneDNN's linear resampling has coordinates of half pixels, in f32. They are exact if the scales
// are powers of two.
bool ComputesTheSame(const InterpolateOp& op) {
  const InterpolateSettings& settings = op.settings();
  const int rank = op.src_shape().rank();
  if (settings.interpolation != Interpolation::kLinear || rank < 3 || rank > 5) return false;
  if (settings.coordinates != Coordinates::kHalfPixel &&
      settings.coordinates != Coordinates::kPytorchHalfPixel) {
    return false;
  }
  for (int d = 0; d < rank; ++d) {
    const std::int64_t in = op.src_shape()[d], out = op.dst_shape()[d];
    const std::int64_t factor = out / in;
    const bool power = out % in == 0 && (factor & (factor - 1)) == 0;
    const bool leads = d < 2;  // images and channels
    if (!power || (leads && factor != 1) ||
        op.scales()[static_cast<std::size_t>(d)] != static_cast<double>(factor)) {
      return false;
    }
  }
  return true;
}

KernelOrRefusal MakeResampling(const KernelRequest& request, const InterpolateOp& op) {
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
        onednn::Describe<dnnl::resampling_forward>(onednn::Attributes(), prop, kLinear, src, dst);
    if (forward) {
      return onednn::MakePrimitiveKernel<dnnl::resampling_forward>(
          request, forward_pd,
          {{Arg::kSrc, Direction::kIn, DNNL_ARG_SRC, src},
           {Arg::kDst, Direction::kOut, DNNL_ARG_DST, dst}});
    }
    const auto pd = onednn::DescribeBackward<dnnl::resampling_backward>(
        onednn::Attributes(), forward_pd, kLinear, src, dst);
    return onednn::MakePrimitiveKernel<dnnl::resampling_backward>(
        request, pd,
        {{Arg::kDiffDst, Direction::kIn, DNNL_ARG_DIFF_DST, dst},
         {Arg::kDiffSrc, Direction::kOut, DNNL_ARG_DIFF_SRC, src}});
  });
}

KernelOrRefusal MakeInterpolate(const KernelRequest& request) {
  const auto& op = dynamic_cast<const InterpolateOp&>(*request.op);
  return ComputesTheSame(op) ? MakeResampling(request, op) : MakeInterpolateLoops(request);
}

const KernelRegistration kRegistration("interpolate", "onednn", MakeInterpolate);

}  // namespace

}  // namespace topdnn
