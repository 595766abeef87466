// ReLU and clip on oneDNN's eltwise primitive, backward from dst.

#include "kernels/onednn.h"

#include <optional>

#include "kernels/activation/clip.h"
#include "kernels/activation/relu.h"
#include "kernels/registry.h"

namespace topdnn {

namespace {

// An element-wise function with a lower and an upper bound, its gradient taken from dst.
KernelOrRefusal MakeEltwise(const KernelRequest& request, const Shape& shape,
                            dnnl::algorithm algorithm, float alpha, float beta) {
  const bool forward = request.execution.pass == Pass::kForward;
  const std::optional<Layout> layout = CommonLayout(request, shape);
  if (!layout) return Refusal{"oneDNN's activations take one layout for all their tensors"};
  return onednn::Offer(request, [&]() -> KernelOrRefusal {
    const auto desc = onednn::ToMemoryDesc({shape, request.execution.type, *layout});
    const dnnl::eltwise_forward::desc forward_desc(request.execution.training || !forward
                                                       ? dnnl::prop_kind::forward_training
                                                       : dnnl::prop_kind::forward_inference,
                                                   algorithm, desc, alpha, beta);
    const dnnl::eltwise_forward::primitive_desc forward_pd(forward_desc, onednn::Attributes(),
                                                           onednn::Engine());
    if (forward) {
      return onednn::MakePrimitiveKernel<dnnl::eltwise_forward>(
          request, forward_pd,
          {{Arg::kSrc, Direction::kIn, DNNL_ARG_SRC, forward_pd.src_desc()},
           {Arg::kDst, Direction::kOut, DNNL_ARG_DST, forward_pd.dst_desc()}});
    }
    const dnnl::eltwise_backward::desc backward_desc(algorithm, desc, desc, alpha, beta);
    const dnnl::eltwise_backward::primitive_desc pd(backward_desc, onednn::Attributes(),
                                                    onednn::Engine(), forward_pd);
    return onednn::MakePrimitiveKernel<dnnl::eltwise_backward>(
        request, pd,
        {{Arg::kDiffDst, Direction::kIn, DNNL_ARG_DIFF_DST, pd.diff_dst_desc()},
         {Arg::kDst, Direction::kIn, DNNL_ARG_DST, pd.dst_desc()},
         {Arg::kDiffSrc, Direction::kOut, DNNL_ARG_DIFF_SRC, pd.diff_src_desc()}});
  });
}

KernelOrRefusal MakeRelu(const KernelRequest& request) {
  const auto& op = dynamic_cast<const ReluOp&>(*request.op);
  const auto algorithm = op.bound() == 0.0F ? dnnl::algorithm::eltwise_relu_use_dst_for_bwd
                                            : dnnl::algorithm::eltwise_clip_v2_use_dst_for_bwd;
  return MakeEltwise(request, op.shape(), algorithm, 0.0F, op.bound());
}

KernelOrRefusal MakeClip(const KernelRequest& request) {
  const auto& op = dynamic_cast<const ClipOp&>(*request.op);
  return MakeEltwise(request, op.shape(), dnnl::algorithm::eltwise_clip_v2_use_dst_for_bwd,
                     op.lowest(), op.highest());
}

const KernelRegistration kClip("clip", "onednn", MakeClip);
const KernelRegistration kRelu("relu", "onednn", MakeRelu);
const KernelRegistration kBounded("bounded_relu", "onednn", MakeRelu);

}  // namespace

}  // namespace topdnn
