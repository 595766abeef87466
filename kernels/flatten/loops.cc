// Flatten of a row-major tensor in f32 as a copy, for backends whose libraries have none.

#include "kernels/flatten/flatten.h"
#include "kernels/kernel/fidelity.h"
#include "kernels/kernel/omp_loops.h"
#include "kernels/kernel/registry.h"

namespace topdnn {

namespace {

class FlattenLoops : public LoopsKernel {
 public:
  FlattenLoops(const KernelRequest& request, const FlattenOp& op)
      : LoopsKernel(request),
        bytes_(static_cast<std::size_t>(op.src_shape().elements()) * sizeof(float)),
        from_(request.execution.pass == Pass::kForward ? Arg::kSrc : Arg::kDiffDst),
        to_(request.execution.pass == Pass::kForward ? Arg::kDst : Arg::kDiffSrc) {}

  void Run() noexcept override { CopyBytes(Data<void>(from_), bytes_, Data<void>(to_)); }

 private:
  const std::size_t bytes_;
  const Arg from_, to_;
};

const KernelRegistration kLoops("flatten", "native", MakeLoops<FlattenOp, FlattenLoops>);
const FidelityDeclaration kLoopsFidelity({"flatten", "native", Fidelity::kOurs,
                                          "copies; Caffe's result shares the memory of its source",
                                          "layers/flatten_layer.cpp"});

}  // namespace

}  // namespace topdnn
