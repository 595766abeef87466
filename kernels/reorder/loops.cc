// Reorder as loops, for backends whose libraries have none. It is a copy when both layouts are the
// same, and otherwise uses tables of offsets, from any layout with a letter tag to any other.
// Padding inside blocks is zeroed.

#include <cstring>

#include "kernels/omp_loops.h"
#include "kernels/registry.h"
#include "kernels/reorder/reorder.h"

namespace topdnn {

namespace {

class ReorderLoops : public LoopsKernel {
 public:
  explicit ReorderLoops(const KernelRequest& request) : LoopsKernel(request) {
    from_ = Find(Arg::kSrc)->desc;
    to_ = Find(Arg::kDst)->desc;
    is_copy_ = from_ == to_;
    if (!is_copy_) {
      scratch_bytes_ = static_cast<std::size_t>(from_.shape.elements()) * 2 * sizeof(std::int64_t);
    }
  }

  void Prepare(const std::map<Arg, void*>& memory) override {
    LoopsKernel::Prepare(memory);
    if (is_copy_) return;
    src_offsets_ = from_.layout.Offsets(from_.shape);
    dst_offsets_ = to_.layout.Offsets(to_.shape);
  }

  void Run() noexcept override {
    void* dst = Data<void>(Arg::kDst);
    const void* src = Data<void>(Arg::kSrc);
    if (is_copy_) return CopyBytes(src, to_.bytes(), dst);
    if (to_.bytes() != dst_offsets_.size() * SizeOf(to_.type)) std::memset(dst, 0, to_.bytes());
    CopyElements(from_.type, src, src_offsets_, to_.type, dst, dst_offsets_);
  }

 private:
  TensorDesc from_, to_;
  bool is_copy_ = false;
  std::vector<std::int64_t> src_offsets_, dst_offsets_;  // per element, row-major
};

KernelOrRefusal MakeReorder(const KernelRequest& request) {
  for (const Arg arg : {Arg::kSrc, Arg::kDst}) {
    if (request.LayoutOf(arg).is_opaque()) {
      return Refusal{"a loop cannot address the opaque layout of another backend"};
    }
  }
  return std::make_unique<ReorderLoops>(request);
}

const KernelRegistration kRegistration("reorder", "openblas", MakeReorder);

}  // namespace

}  // namespace topdnn
