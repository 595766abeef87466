// Pooling over one to three spatial dimensions on oneDNN, where it computes the same.

#include "kernels/library/onednn.h"

#include <algorithm>
#include <cstddef>

#include "kernels/kernel/registry.h"
#include "kernels/pool_nd/pool_nd.h"

namespace topdnn {

namespace {

using PoolNdForward = dnnl::pooling_forward;

dnnl::algorithm AlgorithmOf(PoolNdAlgorithm algorithm) {
  if (algorithm == PoolNdAlgorithm::kMax) return dnnl::algorithm::pooling_max;
  return algorithm == PoolNdAlgorithm::kAverage ? dnnl::algorithm::pooling_avg_exclude_padding
                                                : dnnl::algorithm::pooling_avg_include_padding;
}

struct PoolNdGeometry {
  explicit PoolNdGeometry(const PoolNdExtents& e) : dilation(e.axes.size(), 0) {
    for (const SpatialAxis& axis : e.axes) {
      strides.push_back(axis.stride);
      kernel.push_back(axis.kernel);
      pad_before.push_back(axis.pad_before);
      // oneDNN rounds output extents down, so the last window may need more trailing padding.
      const std::int64_t last = axis.Start(PooledExtent(axis, e.ceil_mode) - 1);
      pad_after.push_back(std::max(axis.pad_after, last + axis.kernel - axis.extent));
    }
  }

  dnnl::memory::dims strides, kernel, pad_before, pad_after;
  dnnl::memory::dims dilation;  // all 0: the windows have no gaps
};

// oneDNN has no norms, and oneDNN 2 has no dilation. For an average that includes padding, oneDNN
// also counts the elements that a window covers beyond the padding.
bool ComputesTheSame(const PoolNdOp& op, const PoolNdGeometry& g) {
  if (op.algorithm() == PoolNdAlgorithm::kLp) return false;
  for (std::size_t a = 0; a < g.kernel.size(); ++a) {
    const SpatialAxis& axis = op.extents().axes[a];
    const bool overhangs = g.pad_after[a] > axis.pad_after;
    if (axis.dilation != 1 || (overhangs && op.algorithm() == PoolNdAlgorithm::kAverageOfPadding)) {
      return false;
    }
  }
  return true;
}

KernelOrRefusal MakePoolNd(const KernelRequest& request, const PoolNdOp& op) {
  const PoolNdGeometry g(op.extents());
  if (!ComputesTheSame(op, g)) return Refusal{"oneDNN has no such windows or averages"};
  return onednn::Offer(request, [&]() -> KernelOrRefusal {
    const Layout layout = FirstSettledLayout(request, op.src_shape().rank());
    const auto pd = onednn::Describe<PoolNdForward>(
        onednn::Attributes(), dnnl::prop_kind::forward_inference, AlgorithmOf(op.algorithm()),
        onednn::DescOf(request, Arg::kSrc, layout), onednn::DescOf(request, Arg::kDst, layout),
        g.strides, g.kernel, g.dilation, g.pad_before, g.pad_after);
    return onednn::MakePrimitiveKernel<PoolNdForward>(request, pd);
  });
}

const KernelRegistration kPoolNdOneDnn("pool_nd", "onednn", MakePoolNd);

}  // namespace

}  // namespace topdnn
