// Reduction on oneDNN. It has no backward pass; loops broadcast the gradient.

#include "kernels/onednn.h"

#include "kernels/reduce/loops.h"
#include "kernels/reduce/reduce.h"
#include "kernels/registry.h"

namespace topdnn {

namespace {

KernelOrRefusal MakeForward(const KernelRequest& request, const ReduceOp& op) {
  const DataType type = request.execution.type;
  const int rank = op.src_shape().rank();
  Layout src_layout = request.LayoutOf(Arg::kSrc);
  if (src_layout.is_any()) src_layout = Layout::Plain(rank);
  Layout dst_layout = request.LayoutOf(Arg::kDst);
  if (!op.keep_dims() && !dst_layout.is_any() && !dst_layout.IsPlainFor(op.dst_shape())) {
    return Refusal{"a reduction to fewer dimensions must write a row-major tensor, not " +
                   dst_layout.tag()};
  }
  // oneDNN keeps the reduced dimensions. A row-major dst without them has the same bytes.
  if (!op.keep_dims()) dst_layout = Layout::Plain(rank);
  if (dst_layout.is_any()) dst_layout = src_layout;
  const auto pd = onednn::Describe<dnnl::reduction>(
      onednn::Attributes(),
      op.algorithm() == ReduceAlgorithm::kMean ? dnnl::algorithm::reduction_mean
                                               : dnnl::algorithm::reduction_sum,
      onednn::ToMemoryDesc({op.src_shape(), type, src_layout}),
      onednn::ToMemoryDesc({op.kept_shape(), type, dst_layout}), 0.0F, 0.0F);
  const Layout written = op.keep_dims() ? dst_layout : Layout::Plain(op.dst_shape().rank());
  return onednn::MakePrimitiveKernel<dnnl::reduction>(
      request, pd,
      {{Arg::kSrc, Direction::kIn, DNNL_ARG_SRC, pd.src_desc(), src_layout},
       {Arg::kDst, Direction::kOut, DNNL_ARG_DST, pd.dst_desc(), written}});
}

KernelOrRefusal MakeReduce(const KernelRequest& request) {
  if (request.execution.pass == Pass::kBackwardData) return MakeReduceLoops(request);
  const auto& op = dynamic_cast<const ReduceOp&>(*request.op);
  return onednn::Offer(request, [&] { return MakeForward(request, op); });
}

const KernelRegistration kRegistration("reduce", "onednn", MakeReduce);

}  // namespace

}  // namespace topdnn
