// Flatten as an Eigen shuffle of the image, from any unblocked layout to row-major order. For a
// row-major image it is a copy.

#include "kernels/eigen/shuffle.h"
#include "kernels/flatten/flatten.h"
#include "kernels/registry.h"

namespace topdnn {

namespace {

template <eigen::Variant kVariant>
KernelOrRefusal MakeFlatten(const KernelRequest& request) {
  return eigen::Offer(
      kVariant, request,
      [&](const eigen::Functions& functions, KernelRequest settled) -> KernelOrRefusal {
        const Shape& shape = dynamic_cast<const FlattenOp&>(*request.op).src_shape();
        const Layout plain = Layout::Plain(shape.rank());
        const bool forward = request.execution.pass == Pass::kForward;
        const Arg image = forward ? Arg::kSrc : Arg::kDiffSrc;
        const Arg rows = forward ? Arg::kDst : Arg::kDiffDst;
        if (auto refusal = eigen::Settle(settled, rows, {"ab"})) return *std::move(refusal);
        Layout& layout = settled.layouts[image];
        if (layout.is_any()) layout = plain;
        if (!IsUnblocked(layout)) {
          return Refusal{"eigen flattens images in unblocked layouts only, not in " + layout.tag()};
        }
        const Permutation permutation = forward ? PermutationBetween(shape, layout, plain)
                                                : PermutationBetween(shape, plain, layout);
        return eigen::MakeShuffle(settled, functions, forward ? image : rows,
                                  forward ? rows : image, permutation);
      });
}

const KernelRegistration kGebp("flatten", "eigen", MakeFlatten<eigen::Variant::kGebp>);
const KernelRegistration kSgemm("flatten", "eigen-sgemm", MakeFlatten<eigen::Variant::kSgemm>);

}  // namespace

}  // namespace topdnn
