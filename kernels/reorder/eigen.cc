// Reorder between unblocked layouts as an Eigen shuffle: NCHW to NHWC, OIHW to HWIO and back.

#include "kernels/eigen/shuffle.h"
#include "kernels/registry.h"
#include "kernels/reorder/reorder.h"

namespace topdnn {

namespace {

template <eigen::Variant kVariant>
KernelOrRefusal MakeReorder(const KernelRequest& request) {
  return eigen::Offer(
      kVariant, request,
      [&](const eigen::Functions& functions, KernelRequest settled) -> KernelOrRefusal {
        const Shape shape = request.op->Find(request.execution, Arg::kSrc)->shape;
        for (const Arg arg : {Arg::kSrc, Arg::kDst}) {
          if (request.op->Find(request.execution, arg)->type != DataType::kF32) {
            return Refusal{"eigen reorders f32 tensors only"};
          }
          Layout& layout = settled.layouts[arg];
          if (layout.is_any()) layout = Layout::Plain(shape.rank());
          if (!IsUnblocked(layout)) {
            return Refusal{"eigen reorders between unblocked layouts only, not " + layout.tag()};
          }
        }
        return eigen::MakeShuffle(
            settled, functions, Arg::kSrc, Arg::kDst,
            PermutationBetween(shape, settled.LayoutOf(Arg::kSrc), settled.LayoutOf(Arg::kDst)));
      });
}

const KernelRegistration kGebp("reorder", "eigen", MakeReorder<eigen::Variant::kGebp>);
const KernelRegistration kSgemm("reorder", "eigen-sgemm", MakeReorder<eigen::Variant::kSgemm>);

}  // namespace

}  // namespace topdnn
