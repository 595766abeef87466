// Transposition between unblocked layouts as an Eigen shuffle.

#include "kernels/eigen/shuffle.h"
#include "kernels/registry.h"
#include "kernels/transpose/transpose.h"

namespace topdnn {

namespace {

template <eigen::Variant kVariant>
KernelOrRefusal MakeTranspose(const KernelRequest& request) {
  return eigen::Offer(
      kVariant, request,
      [&](const eigen::Functions& functions, KernelRequest settled) -> KernelOrRefusal {
        const Transposition move =
            dynamic_cast<const TransposeOp&>(*request.op).In(request.execution.pass);
        for (const Arg arg : {move.from, move.to}) {
          Layout& layout = settled.layouts[arg];
          if (layout.is_any()) layout = Layout::Plain(move.shape.rank());
          if (!IsUnblocked(layout)) {
            return Refusal{"eigen transposes tensors in unblocked layouts only, not in " +
                           layout.tag()};
          }
        }
        return eigen::MakeShuffle(
            settled, functions, move.from, move.to,
            move.Between(settled.LayoutOf(move.from), settled.LayoutOf(move.to)));
      });
}

const KernelRegistration kGebp("transpose", "eigen", MakeTranspose<eigen::Variant::kGebp>);
const KernelRegistration kSgemm("transpose", "eigen-sgemm", MakeTranspose<eigen::Variant::kSgemm>);

}  // namespace

}  // namespace topdnn
