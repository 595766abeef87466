// Reorder as loops, for backends whose libraries have none. It is a copy when both layouts are the
// same, and otherwise uses tables of offsets, from any layout with a letter tag to any other.
// Padding inside blocks is zeroed.

#include "kernels/kernel/fidelity.h"
#include "kernels/kernel/omp_loops.h"
#include "kernels/kernel/registry.h"
#include "kernels/reorder/reorder.h"
#include "kernels/tensor/tensor_copy.h"

namespace topdnn {

namespace {

class ReorderLoops : public LoopsKernel {
 public:
  explicit ReorderLoops(const KernelRequest& request) : LoopsKernel(request) {
    const TensorDesc& to = Find(Arg::kDst)->desc;
    is_copy_ = Find(Arg::kSrc)->desc == to;
    copied_bytes_ = to.bytes();
    if (!is_copy_) scratch_bytes_ = TensorCopy::TableBytes(Find(Arg::kSrc)->desc, to);
  }

  void Prepare(const std::map<Arg, void*>& memory) override {
    LoopsKernel::Prepare(memory);
    if (!is_copy_) copy_ = TensorCopy(Find(Arg::kSrc)->desc, Find(Arg::kDst)->desc);
  }

  void Run() noexcept override {
    const void* src = Data<void>(Arg::kSrc);
    void* dst = Data<void>(Arg::kDst);
    if (is_copy_) return CopyBytes(src, copied_bytes_, dst);
    copy_.Run(src, dst);
  }

 private:
  bool is_copy_ = false;
  std::size_t copied_bytes_ = 0;
  TensorCopy copy_;
};

KernelOrRefusal MakeLoopsReorder(const KernelRequest& request) {
  for (const Arg arg : {Arg::kSrc, Arg::kDst}) {
    if (request.LayoutOf(arg).is_opaque()) {
      return Refusal{"a loop cannot address the opaque layout of another backend"};
    }
  }
  return std::make_unique<ReorderLoops>(request);
}

const KernelRegistration kLoops("reorder", "native", MakeLoopsReorder);
const FidelityDeclaration kLoopsFidelity(
    {"reorder", "native", Fidelity::kOurs,
     "loops; Caffe has no such operation: its tensors have one layout"});

}  // namespace

}  // namespace topdnn
