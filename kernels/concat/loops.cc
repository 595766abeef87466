// Concatenation in f32 as copies of rows, for backends whose libraries have none.

#include <cstring>

#include "kernels/concat/concat.h"
#include "kernels/kernel/fidelity.h"
#include "kernels/kernel/omp_loops.h"
#include "kernels/kernel/registry.h"

namespace topdnn {

namespace {

class ConcatLoops : public LoopsKernel {
 public:
  ConcatLoops(const KernelRequest& request, const ConcatOp& op)
      : LoopsKernel(request), rows_(op), pass_(request.execution.pass) {}

  void Run() noexcept override {
    const int sources = static_cast<int>(rows_.lengths.size());
    const std::int64_t elements = rows_.outer * rows_.dst_length;
#pragma omp parallel for collapse(2) if (elements >= kMinParallelElements)
    for (std::int64_t row = 0; row < rows_.outer; ++row) {
      for (int s = 0; s < sources; ++s) {
        const std::int64_t length = rows_.lengths[static_cast<std::size_t>(s)];
        const std::int64_t whole =
            row * rows_.dst_length + rows_.starts[static_cast<std::size_t>(s)];
        const auto bytes = static_cast<std::size_t>(length) * sizeof(float);
        float* part = Indexed<float>(s) + row * length;
        if (pass_ == Pass::kForward) {
          std::memcpy(Data<float>(Arg::kDst) + whole, part, bytes);
        } else {
          std::memcpy(part, Data<float>(Arg::kDiffDst) + whole, bytes);
        }
      }
    }
  }

 private:
  const ConcatRows rows_;
  const Pass pass_;
};

const KernelRegistration kLoops("concat", "native", MakeLoops<ConcatOp, ConcatLoops>);
const FidelityDeclaration kLoopsFidelity({"concat", "native", Fidelity::kOurs,
                                          "copies on all threads; Caffe's are serial",
                                          "layers/concat_layer.cpp"});

}  // namespace

}  // namespace topdnn
