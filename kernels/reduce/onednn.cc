// Reduction on oneDNN, which has no backward pass and lacks some algorithms.

#include "kernels/library/onednn.h"

#include <optional>

#include "kernels/kernel/registry.h"
#include "kernels/reduce/reduce.h"

namespace topdnn {

namespace {

struct ReducePrimitive {
  dnnl::algorithm algorithm;
  float power;
};

std::optional<ReducePrimitive> PrimitiveOf(ReduceAlgorithm algorithm) {
  switch (algorithm) {
    case ReduceAlgorithm::kSum:
      return ReducePrimitive{dnnl::algorithm::reduction_sum, 0.0F};
    case ReduceAlgorithm::kMean:
      return ReducePrimitive{dnnl::algorithm::reduction_mean, 0.0F};
    case ReduceAlgorithm::kMax:
      return ReducePrimitive{dnnl::algorithm::reduction_max, 0.0F};
    case ReduceAlgorithm::kMin:
      return ReducePrimitive{dnnl::algorithm::reduction_min, 0.0F};
    case ReduceAlgorithm::kProduct:
      return ReducePrimitive{dnnl::algorithm::reduction_mul, 0.0F};
    case ReduceAlgorithm::kL1:
      return ReducePrimitive{dnnl::algorithm::reduction_norm_lp_power_p_sum, 1.0F};
    case ReduceAlgorithm::kL2:
      return ReducePrimitive{dnnl::algorithm::reduction_norm_lp_sum, 2.0F};
    case ReduceAlgorithm::kSumSquare:
      return ReducePrimitive{dnnl::algorithm::reduction_norm_lp_power_p_sum, 2.0F};
    case ReduceAlgorithm::kLogSum:
    case ReduceAlgorithm::kLogSumExp:
      break;
  }
  return std::nullopt;
}

KernelOrRefusal MakeForward(const KernelRequest& request, const ReduceOp& op,
                            const ReducePrimitive& primitive) {
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
      onednn::Attributes(), primitive.algorithm,
      onednn::ToMemoryDesc({op.src_shape(), type, src_layout}),
      onednn::ToMemoryDesc({op.kept_shape(), type, dst_layout}), primitive.power, 0.0F);
  const Layout written = op.keep_dims() ? dst_layout : Layout::Plain(op.dst_shape().rank());
  return onednn::MakePrimitiveKernel<dnnl::reduction>(
      request, pd,
      {{Arg::kSrc, Direction::kIn, DNNL_ARG_SRC, pd.src_desc(), src_layout},
       {Arg::kDst, Direction::kOut, DNNL_ARG_DST, pd.dst_desc(), written}});
}

KernelOrRefusal MakeOneDnnReduce(const KernelRequest& request) {
  if (request.execution.pass == Pass::kBackwardData) {
    return Refusal{"oneDNN has no gradient of a reduction"};
  }
  const auto& op = request.OpAs<ReduceOp>();
  const auto primitive = PrimitiveOf(op.algorithm());
  // oneDNN has no reduction in which each result is of one element.
  const bool of_single = op.src_shape().elements() == op.dst_shape().elements();
  if (!primitive || of_single) return Refusal{"oneDNN has no such reduction"};
  return onednn::Offer(request, [&] { return MakeForward(request, op, *primitive); });
}

const KernelRegistration kReduceOneDnn("reduce", "onednn", MakeOneDnnReduce);

}  // namespace

}  // namespace topdnn
