// Bias on oneDNN: the binary primitive with the bias broadcast. oneDNN 2.6 has only plain reference
// code for a bias on blocked channels and for the gradient (a sum over all dimensions except the
// channels), so the gradient is refused, and a bias whose vectorised loops topdnn has.

#include "kernels/library/onednn.h"

#include <string_view>

#include "kernels/bias/bias.h"
#include "kernels/bias/loops.h"
#include "kernels/kernel/registry.h"

namespace topdnn {

namespace {

KernelOrRefusal MakeForward(const KernelRequest& request, const BiasOp& op) {
  const Layout bias_layout = request.LayoutOf(Arg::kBias);
  const std::optional<Layout> layout = CommonLayout(request, op.shape());
  if (!layout) return Refusal{"oneDNN needs one layout for the source and the result of a bias"};
  if (!bias_layout.is_any() && !bias_layout.IsPlainFor({op.channels()})) {
    return Refusal{"a bias must be a plain vector, not " + bias_layout.tag()};
  }
  return onednn::Offer(request, [&]() -> KernelOrRefusal {
    const auto image = onednn::ToMemoryDesc({op.shape(), request.execution.type, *layout});
    std::vector<std::int64_t> broadcast(static_cast<std::size_t>(op.shape().rank()), 1);
    broadcast[1] = op.channels();
    const auto bias =
        onednn::ToMemoryDesc({Shape(broadcast), DataType::kF32, Layout::Plain(op.shape().rank())});
    const auto pd = onednn::Describe<dnnl::binary>(onednn::Attributes(),
                                                   dnnl::algorithm::binary_add, image, bias, image);
    if (std::string_view(pd.impl_info_str()).starts_with("ref")) {
      const KernelOrRefusal loops = MakeBiasLoops(request);
      if (!std::holds_alternative<Refusal>(loops)) return Refusal{"oneDNN adds it by plain code"};
    }
    return onednn::MakePrimitiveKernel<dnnl::binary>(
        request, pd,
        {{Arg::kSrc, Direction::kIn, DNNL_ARG_SRC_0, image},
         {Arg::kBias, Direction::kIn, DNNL_ARG_SRC_1, bias},
         {Arg::kDst, Direction::kOut, DNNL_ARG_DST, pd.dst_desc()}});
  });
}

KernelOrRefusal MakeOneDnnBias(const KernelRequest& request) {
  if (request.execution.pass == Pass::kBackwardWeights) {
    return Refusal{"oneDNN has only plain code for the gradient of a bias"};
  }
  return MakeForward(request, request.OpAs<BiasOp>());
}

const KernelRegistration kBiasOneDnn("bias", "onednn", MakeOneDnnBias);

}  // namespace

}  // namespace topdnn
