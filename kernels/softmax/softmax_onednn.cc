// Softmax on oneDNN, row-major.

#include "kernels/kernel/registry.h"
#include "kernels/library/onednn.h"
#include "kernels/softmax/softmax.h"

namespace topdnn {

namespace {

constexpr int kClassAxis = 1;

KernelOrRefusal MakeOneDnnSoftmax(const KernelRequest& request, const SoftmaxOp& op) {
  const Shape shape{op.batch(), op.classes()};
  for (const Operand& operand : op.Operands(request.execution)) {
    const Layout layout = request.LayoutOf(operand.arg);
    if (!layout.is_any() && !layout.IsPlainFor(shape)) {
      return Refusal{"softmax needs row-major tensors, not " + layout.tag() + " as " +
                     NameOf(operand.arg)};
    }
  }
  return onednn::Offer(request, [&]() -> KernelOrRefusal {
    const auto desc = onednn::ToMemoryDesc({shape, request.execution.type, Layout::Plain(2)});
    const bool forward = request.execution.pass == Pass::kForward;
    const auto forward_pd = onednn::Describe<dnnl::softmax_forward>(
        onednn::Attributes(), onednn::ForwardKind(request), dnnl::algorithm::softmax_accurate, desc,
        desc, kClassAxis);
    if (forward) {
      return onednn::MakePrimitiveKernel<dnnl::softmax_forward>(request, forward_pd);
    }
    const auto pd = onednn::DescribeBackward<dnnl::softmax_backward>(
        onednn::Attributes(), forward_pd, dnnl::algorithm::softmax_accurate, desc, desc, desc,
        kClassAxis);
    return onednn::MakePrimitiveKernel<dnnl::softmax_backward>(request, pd);
  });
}

const KernelRegistration kOneDnnSoftmax("softmax", "onednn", MakeOneDnnSoftmax);

}  // namespace

}  // namespace topdnn
