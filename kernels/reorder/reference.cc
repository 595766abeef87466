// Reorder by tables of offsets: from any layout with a letter tag to any other, rounded to the
// result's type. Padding inside blocks is zeroed, as every reader of a blocked layout expects.

#include "kernels/kernel/reference.h"

#include "kernels/kernel/registry.h"
#include "kernels/reorder/reorder.h"
#include "kernels/tensor/tensor_copy.h"

namespace topdnn {

namespace {

class ReorderReference : public ReferenceKernel {
 public:
  explicit ReorderReference(const KernelRequest& request) : ReferenceKernel(request) {
    scratch_bytes_ = TensorCopy::TableBytes(Find(Arg::kSrc)->desc, Find(Arg::kDst)->desc);
  }

  void Prepare(const std::map<Arg, void*>& memory) override {
    ReferenceKernel::Prepare(memory);
    copy_ = TensorCopy(Find(Arg::kSrc)->desc, Find(Arg::kDst)->desc);
  }

  void Run() noexcept override { copy_.Run(Data<void>(Arg::kSrc), Data<void>(Arg::kDst)); }

 private:
  TensorCopy copy_;
};

KernelOrRefusal MakeReferenceReorder(const KernelRequest& request) {
  for (const Arg arg : {Arg::kSrc, Arg::kDst}) {
    if (request.LayoutOf(arg).is_opaque()) {
      return Refusal{"the reference cannot address the opaque layout of another backend"};
    }
  }
  return std::make_unique<ReorderReference>(request);
}

const KernelRegistration kReorderReference("reorder", "reference", MakeReferenceReorder);

}  // namespace

}  // namespace topdnn
