// Reorder on oneDNN.

#include "kernels/library/onednn.h"

#include "kernels/kernel/registry.h"

namespace topdnn {

namespace {

KernelOrRefusal MakeOneDnnReorder(const KernelRequest& request) {
  return onednn::Offer(request, [&]() -> KernelOrRefusal {
    const auto desc_of = [&](Arg arg) {
      const Operand operand = *request.op->Find(request.execution, arg);
      Layout layout = request.LayoutOf(arg);
      if (layout.is_any()) layout = Layout::Plain(operand.shape.rank());
      return onednn::ToMemoryDesc({operand.shape, operand.type, std::move(layout)});
    };
    const dnnl::reorder::primitive_desc pd(onednn::Engine(), desc_of(Arg::kSrc), onednn::Engine(),
                                           desc_of(Arg::kDst), onednn::Attributes());
    return onednn::MakePrimitiveKernel<dnnl::reorder>(
        request, pd,
        {{Arg::kSrc, Direction::kIn, DNNL_ARG_FROM, pd.src_desc()},
         {Arg::kDst, Direction::kOut, DNNL_ARG_TO, pd.dst_desc()}});
  });
}

const KernelRegistration kReorderOneDnn("reorder", "onednn", MakeOneDnnReorder);

}  // namespace

}  // namespace topdnn
