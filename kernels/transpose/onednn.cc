// Transposition on oneDNN: a reorder of the source, described with its dimensions in the order of
// the result.

#include "kernels/library/onednn.h"

#include <vector>

#include "kernels/kernel/registry.h"
#include "kernels/transpose/transpose.h"

namespace topdnn {

namespace {

KernelOrRefusal MakeOneDnnTranspose(const KernelRequest& request, const TransposeOp& op) {
  const Transposition move = op.In(request.execution.pass);
  const auto layout_of = [&](Arg arg) {
    const Layout settled = request.LayoutOf(arg);
    return settled.is_any() ? Layout::Plain(move.shape.rank()) : settled;
  };
  return onednn::Offer(request, [&]() -> KernelOrRefusal {
    const DataType type = request.execution.type;
    const Shape& result =
        request.execution.pass == Pass::kForward ? op.dst_shape() : op.src_shape();
    // oneDNN needs the destination of each dimension of the source.
    std::vector<int> places(move.order.size());
    for (std::size_t i = 0; i < places.size(); ++i) {
      places[static_cast<std::size_t>(move.order[i])] = static_cast<int>(i);
    }
    const auto from = onednn::ToMemoryDesc({move.shape, type, layout_of(move.from)});
    const auto to = onednn::ToMemoryDesc({result, type, layout_of(move.to)});
    const dnnl::reorder::primitive_desc pd(onednn::Engine(), from.permute_axes(places),
                                           onednn::Engine(), to, onednn::Attributes());
    return onednn::MakePrimitiveKernel<dnnl::reorder>(
        request, pd,
        {{move.from, Direction::kIn, DNNL_ARG_FROM, pd.src_desc(), layout_of(move.from)},
         {move.to, Direction::kOut, DNNL_ARG_TO, pd.dst_desc(), layout_of(move.to)}});
  });
}

const KernelRegistration kTransposeOneDnn("transpose", "onednn", MakeOneDnnTranspose);

}  // namespace

}  // namespace topdnn
