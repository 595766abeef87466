// Concatenation by its definition: element by element over row-major tensors.

#include "kernels/kernel/reference.h"

#include "kernels/concat/concat.h"
#include "kernels/kernel/registry.h"

namespace topdnn {

namespace {

template <typename T>
class ConcatReference : public ReferenceKernel {
 public:
  ConcatReference(const KernelRequest& request, const ConcatOp& op)
      : ReferenceKernel(request), rows_(op) {}

  void Run() noexcept override {
    for (std::int64_t row = 0; row < rows_.outer; ++row) {
      for (int s = 0; s < static_cast<int>(rows_.lengths.size()); ++s) {
        const std::int64_t length = rows_.lengths[static_cast<std::size_t>(s)];
        const std::int64_t whole =
            row * rows_.dst_length + rows_.starts[static_cast<std::size_t>(s)];
        T* part = Indexed<T>(s) + row * length;
        for (std::int64_t i = 0; i < length; ++i) {
          if (pass() == Pass::kForward) {
            Data<T>(Arg::kDst)[whole + i] = part[i];
          } else {
            part[i] = Data<T>(Arg::kDiffDst)[whole + i];
          }
        }
      }
    }
  }

 private:
  const ConcatRows rows_;
};

const KernelRegistration kConcatReference("concat", "reference",
                                          MakeReference<ConcatOp, ConcatReference>);

}  // namespace

}  // namespace topdnn
