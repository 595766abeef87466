// Flatten as an Eigen shuffle of the image, from any unblocked layout to row-major order. For a
// row-major image it is a copy.

#include "kernels/eigen/shuffle.h"
#include "kernels/flatten/flatten.h"
#include "kernels/kernel/fidelity.h"

namespace topdnn {

namespace {

KernelOrRefusal MakeEigenFlatten(const eigen::Functions& functions, KernelRequest& request,
                                 const FlattenOp& op) {
  const Shape& shape = op.src_shape();
  const Layout plain = Layout::Plain(shape.rank());
  const bool forward = request.execution.pass == Pass::kForward;
  const Arg image = forward ? Arg::kSrc : Arg::kDiffSrc;
  const Arg rows = forward ? Arg::kDst : Arg::kDiffDst;
  const std::string row_major = Layout::Plain(op.dst_shape().rank()).tag();
  if (auto refusal = eigen::Settle(request, rows, {row_major})) return *std::move(refusal);
  if (auto refusal = eigen::SettleUnblocked(request, image)) return *std::move(refusal);
  const Layout layout = request.LayoutOf(image);
  const Permutation permutation =
      forward ? PermutationBetween(shape, layout, plain) : PermutationBetween(shape, plain, layout);
  return eigen::MakeShuffle(request, functions, forward ? image : rows, forward ? rows : image,
                            permutation);
}

const eigen::Registration kFlattenEigen("flatten", MakeEigenFlatten);
const FidelityDeclaration kFlattenEigenFidelity(
    {"flatten", "eigen", Fidelity::kOurs,
     "a shuffle, because the layout changes; TensorFlow's result shares the memory of its source",
     "reshape_op.h"});

}  // namespace

}  // namespace topdnn
