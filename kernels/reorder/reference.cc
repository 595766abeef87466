// Reorder by tables of offsets: from any layout with a letter tag to any other, rounded to the
// result's type. Padding inside blocks is zeroed, as every reader of a blocked layout expects.

#include "kernels/reference.h"

#include <cstring>

#include "kernels/registry.h"
#include "kernels/reorder/reorder.h"

namespace topdnn {

namespace {

class ReorderReference : public ReferenceKernel {
 public:
  explicit ReorderReference(const KernelRequest& request) : ReferenceKernel(request) {
    from_ = Find(Arg::kSrc)->desc;
    to_ = Find(Arg::kDst)->desc;
    scratch_bytes_ = static_cast<std::size_t>(from_.shape.elements()) * 2 * sizeof(std::int64_t);
  }

  void Prepare(const std::map<Arg, void*>& memory) override {
    ReferenceKernel::Prepare(memory);
    src_offsets_ = from_.layout.Offsets(from_.shape);
    dst_offsets_ = to_.layout.Offsets(to_.shape);
  }

  void Run() noexcept override {
    void* dst = Data<void>(Arg::kDst);
    if (to_.bytes() != src_offsets_.size() * SizeOf(to_.type)) std::memset(dst, 0, to_.bytes());
    CopyElements(from_.type, Data<void>(Arg::kSrc), src_offsets_, to_.type, dst, dst_offsets_);
  }

 private:
  TensorDesc from_, to_;
  std::vector<std::int64_t> src_offsets_, dst_offsets_;  // per element, row-major
};

KernelOrRefusal MakeReorder(const KernelRequest& request) {
  for (const Arg arg : {Arg::kSrc, Arg::kDst}) {
    if (request.LayoutOf(arg).is_opaque()) {
      return Refusal{"the reference cannot address the opaque layout of another backend"};
    }
  }
  return std::make_unique<ReorderReference>(request);
}

const KernelRegistration kRegistration("reorder", "reference", MakeReorder);

}  // namespace

}  // namespace topdnn
