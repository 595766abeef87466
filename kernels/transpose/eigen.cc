// Transposition between unblocked layouts as an Eigen shuffle.

#include "kernels/eigen/shuffle.h"
#include "kernels/kernel/fidelity.h"
#include "kernels/transpose/transpose.h"

namespace topdnn {

namespace {

KernelOrRefusal MakeEigenTranspose(const eigen::Functions& functions, KernelRequest& request) {
  const Transposition move = request.OpAs<TransposeOp>().In(request.execution.pass);
  for (const Arg arg : {move.from, move.to}) {
    if (auto refusal = eigen::SettleUnblocked(request, arg)) return *std::move(refusal);
  }
  return eigen::MakeShuffle(request, functions, move.from, move.to,
                            move.Between(request.LayoutOf(move.from), request.LayoutOf(move.to)));
}

const eigen::Registration kTransposeEigen("transpose", MakeEigenTranspose);
const FidelityDeclaration kTransposeEigenFidelity(
    {"transpose", "eigen", Fidelity::kOurs,
     "a shuffle of four dimensions after adjacent ones are "
     "merged; TensorFlow shuffles the tensor's own dimensions",
     "transpose_functor_cpu.cc"});

}  // namespace

}  // namespace topdnn
