// Resize on oneDNN's resampling primitive.

#include "kernels/kernel/registry.h"
#include "kernels/library/onednn_resampling.h"
#include "kernels/resize/resize.h"

namespace topdnn {

namespace {

KernelOrRefusal MakeOneDnnResize(const KernelRequest& request) {
  const auto& op = dynamic_cast<const ResizeOp&>(*request.op);
  return onednn::MakeResampling(request, dnnl::algorithm::resampling_nearest, op.src_shape(),
                                op.dst_shape());
}

const KernelRegistration kOneDnn("resize", "onednn", MakeOneDnnResize);

}  // namespace

}  // namespace topdnn
