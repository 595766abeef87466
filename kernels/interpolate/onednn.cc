// Interpolation on oneDNN's resampling primitive where it computes the same.

#include "kernels/interpolate/interpolate.h"
#include "kernels/kernel/registry.h"
#include "kernels/library/onednn_resampling.h"

namespace topdnn {

namespace {

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

KernelOrRefusal MakeInterpolate(const KernelRequest& request) {
  const auto& op = dynamic_cast<const InterpolateOp&>(*request.op);
  if (!ComputesTheSame(op)) return Refusal{"oneDNN's resampling computes something else"};
  return onednn::MakeResampling(request, dnnl::algorithm::resampling_linear, op.src_shape(),
                                op.dst_shape());
}

const KernelRegistration kOneDnn("interpolate", "onednn", MakeInterpolate);

}  // namespace

}  // namespace topdnn
