// Reorder between unblocked layouts as an Eigen shuffle: NCHW to NHWC, OIHW to HWIO and back.

#include "kernels/eigen/shuffle.h"
#include "kernels/kernel/fidelity.h"

namespace topdnn {

namespace {

KernelOrRefusal MakeEigenReorder(const eigen::Functions& functions, KernelRequest& request) {
  const Shape shape = request.op->Find(request.execution, Arg::kSrc)->shape;
  for (const Arg arg : {Arg::kSrc, Arg::kDst}) {
    if (request.op->Find(request.execution, arg)->type != DataType::kF32) {
      return Refusal{"eigen reorders f32 tensors only"};
    }
    if (auto refusal = eigen::SettleUnblocked(request, arg)) return *std::move(refusal);
  }
  return eigen::MakeShuffle(
      request, functions, Arg::kSrc, Arg::kDst,
      PermutationBetween(shape, request.LayoutOf(Arg::kSrc), request.LayoutOf(Arg::kDst)));
}

const eigen::Registration kReorderEigen("reorder", MakeEigenReorder);
const FidelityDeclaration kReorderEigenFidelity(
    {"reorder", "eigen", Fidelity::kOurs,
     "a shuffle; TensorFlow has no such operation: its tensors have one layout"});

}  // namespace

}  // namespace topdnn
