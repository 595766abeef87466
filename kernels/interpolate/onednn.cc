// Interpolation on oneDNN's resampling primitive where it computes the same.

#include "kernels/library/onednn.h"

#include <optional>

#include "kernels/interpolate/interpolate.h"
#include "kernels/kernel/registry.h"

namespace topdnn {

namespace {

// oneDNN's linear resampling has coordinates of half pixels, in f32. They are exact if the scales
// are powers of two. Its nearest element agrees for repeated pixels.
bool ComputesTheSame(const InterpolateOp& op) {
  if (op.RepeatedPixels()) return true;
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

KernelOrRefusal MakeInterpolate(const KernelRequest& request, const InterpolateOp& op) {
  if (!ComputesTheSame(op)) return Refusal{"oneDNN's resampling computes something else"};
  std::optional<Layout> layout = CommonLayout(request);
  if (!layout) return Refusal{"oneDNN's resampling needs one layout for both tensors"};
  if (layout->is_any()) layout = Layout::Plain(op.src_shape().rank());
  const auto algorithm = op.settings().interpolation == Interpolation::kLinear
                             ? dnnl::algorithm::resampling_linear
                             : dnnl::algorithm::resampling_nearest;
  return onednn::Offer(request, [&]() -> KernelOrRefusal {
    const DataType type = request.execution.type;
    const auto src = onednn::ToMemoryDesc({op.src_shape(), type, *layout});
    const auto dst = onednn::ToMemoryDesc({op.dst_shape(), type, *layout});
    const auto forward_pd = onednn::Describe<dnnl::resampling_forward>(
        onednn::Attributes(), onednn::ForwardKind(request), algorithm, src, dst);
    if (request.execution.pass == Pass::kForward) {
      return onednn::MakePrimitiveKernel<dnnl::resampling_forward>(request, forward_pd);
    }
    const auto pd = onednn::DescribeBackward<dnnl::resampling_backward>(
        onednn::Attributes(), forward_pd, algorithm, src, dst);
    return onednn::MakePrimitiveKernel<dnnl::resampling_backward>(request, pd);
  });
}

const KernelRegistration kInterpolateOneDnn("interpolate", "onednn", MakeInterpolate);

}  // namespace

}  // namespace topdnn
