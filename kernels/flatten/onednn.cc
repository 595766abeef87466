// Flatten on oneDNN: a reorder of the image to row-major, which is also the layout of the rows.

#include "kernels/library/onednn.h"

#include "kernels/flatten/flatten.h"
#include "kernels/kernel/registry.h"

namespace topdnn {

namespace {

KernelOrRefusal MakeOneDnnFlatten(const KernelRequest& request, const FlattenOp& op) {
  const bool forward = request.execution.pass == Pass::kForward;
  const Arg image = forward ? Arg::kSrc : Arg::kDiffSrc;
  const Arg rows = forward ? Arg::kDst : Arg::kDiffDst;
  const Layout of_rows = request.LayoutOf(rows);
  if (!of_rows.is_any() && !of_rows.IsPlainFor(op.dst_shape())) {
    return Refusal{"flatten needs row-major rows, not " + of_rows.tag()};
  }
  return onednn::Offer(request, [&]() -> KernelOrRefusal {
    const Layout plain = Layout::Plain(op.src_shape().rank());
    const Layout settled = request.LayoutOf(image);
    const DataType type = request.execution.type;
    const auto image_desc =
        onednn::ToMemoryDesc({op.src_shape(), type, settled.is_any() ? plain : settled});
    // The rows, with the extents of the image, for oneDNN.
    const auto rows_desc = onednn::ToMemoryDesc({op.src_shape(), type, plain});
    const dnnl::reorder::primitive_desc pd(onednn::Engine(), forward ? image_desc : rows_desc,
                                           onednn::Engine(), forward ? rows_desc : image_desc,
                                           onednn::Attributes());
    return onednn::MakePrimitiveKernel<dnnl::reorder>(
        request, pd,
        {{forward ? image : rows, Direction::kIn, DNNL_ARG_FROM, pd.src_desc()},
         {forward ? rows : image, Direction::kOut, DNNL_ARG_TO, pd.dst_desc()}});
  });
}

const KernelRegistration kFlattenOneDnn("flatten", "onednn", MakeOneDnnFlatten);

}  // namespace

}  // namespace topdnn
