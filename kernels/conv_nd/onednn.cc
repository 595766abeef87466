// Convolution over one to three spatial dimensions on oneDNN.

#include "kernels/library/onednn.h"

#include <utility>
#include <vector>

#include "kernels/conv_nd/conv_nd.h"
#include "kernels/kernel/registry.h"
#include "kernels/library/onednn_convolution.h"

namespace topdnn {

namespace {

// With groups, oneDNN's weights are (G, K/G, C/G, kernel...), the same bytes in row-major order.
Shape WeightsShape(const ConvNdOp& op) {
  const std::int64_t groups = op.extents().groups;
  if (groups == 1) return op.weights_shape();
  std::vector<std::int64_t> extents = op.weights_shape().extents();
  extents[0] /= groups;
  extents.insert(extents.begin(), groups);
  return Shape(std::move(extents));
}

KernelOrRefusal MakeConvNd(const KernelRequest& request, const ConvNdOp& op) {
  for (const Arg arg : {Arg::kWeights, Arg::kDiffWeights}) {
    const Layout layout = request.LayoutOf(arg);
    if (op.extents().groups != 1 && !layout.is_any() && !layout.IsPlainFor(op.weights_shape())) {
      return Refusal{"oneDNN's weights of several groups are row-major here, not in layout " +
                     layout.tag()};
    }
  }
  return onednn::Offer(request, [&] {
    return onednn::MakeConvolution(
        request, {op.extents().axes, op.src_shape(), WeightsShape(op), op.dst_shape()});
  });
}

const KernelRegistration kConvNdOneDnn("conv_nd", "onednn", MakeConvNd);

}  // namespace

}  // namespace topdnn
