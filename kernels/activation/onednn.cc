// The activations on oneDNN's eltwise primitive; backward computes from dst.

#include "kernels/library/onednn.h"

#include <memory>
#include <optional>
#include <utility>

#include "kernels/activation/clip.h"
#include "kernels/activation/relu.h"
#include "kernels/activation/sigmoid.h"
#include "kernels/kernel/kernel_sequence.h"
#include "kernels/kernel/registry.h"

namespace topdnn {

namespace {

// Makes a primitive of an element-wise function. Backward computes from dst, so it needs an
// algorithm whose name ends in use_dst_for_bwd.
KernelOrRefusal MakeEltwise(const KernelRequest& request, const Shape& shape,
                            dnnl::algorithm algorithm, float alpha, float beta) {
  const bool forward = request.execution.pass == Pass::kForward;
  const std::optional<Layout> layout = CommonLayout(request, shape);
  if (!layout) return Refusal{"oneDNN's activations need one layout for all tensors"};
  return onednn::Offer(request, [&]() -> KernelOrRefusal {
    const auto desc = onednn::ToMemoryDesc({shape, request.execution.type, *layout});
    const auto forward_pd = onednn::Describe<dnnl::eltwise_forward>(
        onednn::Attributes(), onednn::ForwardKind(request), algorithm, desc, desc, alpha, beta);
    if (forward) {
      return onednn::MakePrimitiveKernel<dnnl::eltwise_forward>(request, forward_pd);
    }
    const auto pd = onednn::DescribeBackward<dnnl::eltwise_backward>(
        onednn::Attributes(), forward_pd, algorithm, desc, desc, desc, alpha, beta);
    return onednn::MakePrimitiveKernel<dnnl::eltwise_backward>(request, pd);
  });
}

KernelOrRefusal MakeOneDnnRelu(const KernelRequest& request, const ReluOp& op) {
  const auto algorithm = op.bound() == 0.0F ? dnnl::algorithm::eltwise_relu_use_dst_for_bwd
                                            : dnnl::algorithm::eltwise_clip_v2_use_dst_for_bwd;
  return MakeEltwise(request, op.shape(), algorithm, 0.0F, op.bound());
}

KernelOrRefusal MakeOneDnnClip(const KernelRequest& request, const ClipOp& op) {
  return MakeEltwise(request, op.shape(), dnnl::algorithm::eltwise_clip_v2_use_dst_for_bwd,
                     op.lowest(), op.highest());
}

KernelOrRefusal MakeOneDnnSigmoid(const KernelRequest& request, const SigmoidOp& op) {
  return MakeEltwise(request, op.shape(), dnnl::algorithm::eltwise_logistic_use_dst_for_bwd, 0.0F,
                     0.0F);
}

// oneDNN 2.6 has no hard sigmoid, and the one of oneDNN 3 has no gradient from dst. Forward: a
// linear function, then a clip of its result. Backward: the gradient of the clip, then its product
// with alpha.
KernelOrRefusal MakeOneDnnHardSigmoid(const KernelRequest& request, const HardSigmoidOp& op) {
  const bool forward = request.execution.pass == Pass::kForward;
  const Arg result = forward ? Arg::kDst : Arg::kDiffSrc;
  constexpr auto kLinear = dnnl::algorithm::eltwise_linear;
  constexpr auto kClip = dnnl::algorithm::eltwise_clip_v2_use_dst_for_bwd;
  KernelOrRefusal first = forward ? MakeEltwise(request, op.shape(), kLinear, op.alpha(), op.beta())
                                  : MakeEltwise(request, op.shape(), kClip, 0.0F, 1.0F);
  if (std::holds_alternative<Refusal>(first)) return first;
  auto& made = std::get<std::unique_ptr<Kernel>>(first);
  KernelRequest after = request;
  after.execution.pass = Pass::kForward;
  after.layouts = {{Arg::kSrc, made->Find(result)->desc.layout}};
  KernelOrRefusal second = forward ? MakeEltwise(after, op.shape(), kClip, 0.0F, 1.0F)
                                   : MakeEltwise(after, op.shape(), kLinear, op.alpha(), 0.0F);
  if (std::holds_alternative<Refusal>(second)) return second;
  return std::make_unique<KernelSequence>(
      std::move(made), std::move(std::get<std::unique_ptr<Kernel>>(second)), result);
}

const KernelRegistration kOneDnnClip("clip", "onednn", MakeOneDnnClip);
const KernelRegistration kOneDnnRelu("relu", "onednn", MakeOneDnnRelu);
const KernelRegistration kOneDnnBounded("bounded_relu", "onednn", MakeOneDnnRelu);
const KernelRegistration kOneDnnSigmoid("sigmoid", "onednn", MakeOneDnnSigmoid);
const KernelRegistration kOneDnnHardSigmoid("hard_sigmoid", "onednn", MakeOneDnnHardSigmoid);

}  // namespace

}  // namespace topdnn
