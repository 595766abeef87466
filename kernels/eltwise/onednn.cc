// Addition on oneDNN: the binary primitive, with further sources and the ReLU as post-ops. So each
// tensor is read or written once, and the result is rounded once. The sum primitive is not used: it
// takes no post-op, and it has only plain code for partly filled channel blocks. In f32 on Zen 4 it
// took 1.3 times as long with two sources and 2 times as long with four; in bf16 it took 0.7 to 1.1
// times as long.

#include "kernels/onednn.h"

#include "kernels/eltwise/add.h"
#include "kernels/registry.h"

namespace topdnn {

namespace {

dnnl::primitive_attr AttributesOf(const AddOp& op, const dnnl::memory::desc& desc) {
  dnnl::primitive_attr attributes = onednn::Attributes();
  dnnl::post_ops post_ops;
  for (int i = 2; i < op.sources(); ++i) {
    post_ops.append_binary(dnnl::algorithm::binary_add, desc);
  }
  if (op.relu()) onednn::AppendEltwise(post_ops, dnnl::algorithm::eltwise_relu, 0.0F, 0.0F);
  attributes.set_post_ops(post_ops);
  return attributes;
}

int DnnlArgOf(int source) {
  if (source == 0) return DNNL_ARG_SRC_0;
  if (source == 1) return DNNL_ARG_SRC_1;
  return DNNL_ARG_ATTR_MULTIPLE_POST_OP(source - 2) | DNNL_ARG_SRC_1;
}

KernelOrRefusal MakeAdd(const KernelRequest& request) {
  const auto& op = dynamic_cast<const AddOp&>(*request.op);
  const std::optional<Layout> layout = CommonLayout(request, op.shape());
  if (!layout) return Refusal{"oneDNN's addition needs one layout for all tensors"};
  return onednn::Offer(request, [&]() -> KernelOrRefusal {
    const auto desc = onednn::ToMemoryDesc({op.shape(), request.execution.type, *layout});
    const auto pd = onednn::Describe<dnnl::binary>(AttributesOf(op, desc),
                                                   dnnl::algorithm::binary_add, desc, desc, desc);
    std::vector<onednn::PrimitiveOperand> operands;
    operands.reserve(static_cast<std::size_t>(op.sources()) + 1);
    for (int i = 0; i < op.sources(); ++i) {
      operands.push_back({IndexedSrc(i), Direction::kIn, DnnlArgOf(i), desc});
    }
    operands.push_back({Arg::kDst, Direction::kOut, DNNL_ARG_DST, pd.dst_desc()});
    return onednn::MakePrimitiveKernel<dnnl::binary>(request, pd, std::move(operands));
  });
}

const KernelRegistration kRegistration("add", "onednn", MakeAdd);

}  // namespace

}  // namespace topdnn
