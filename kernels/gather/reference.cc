// A gather by its definition, element by element.

#include "kernels/kernel/reference.h"

#include <limits>

#include "kernels/gather/gather.h"
#include "kernels/kernel/registry.h"

namespace topdnn {

namespace {

template <typename T>
class GatherReference : public ReferenceKernel {
 public:
  GatherReference(const KernelRequest& request, const GatherOp& op)
      : ReferenceKernel(request), op_(op) {}

  void Run() noexcept override {
    const GatherExtents& e = op_.extents();
    const T* src = DataOf<T>(op_.src_arg());
    const T* indices = DataOf<T>(op_.indices_arg());
    T* dst = Data<T>(Arg::kDst);
    for (std::int64_t o = 0; o < e.outer; ++o) {
      for (std::int64_t j = 0; j < e.count; ++j) {
        const std::int64_t at = op_.PositionOf(static_cast<double>(indices[j]));
        for (std::int64_t i = 0; i < e.inner; ++i) {
          dst[(o * e.count + j) * e.inner + i] =
              at < 0 ? std::numeric_limits<T>::quiet_NaN() : src[(o * e.extent + at) * e.inner + i];
        }
      }
    }
  }

 private:
  const GatherOp op_;
};

const KernelRegistration kGatherReference("gather", "reference",
                                          MakeReference<GatherOp, GatherReference>);

}  // namespace

}  // namespace topdnn
