// Addition by its definition, summed in double. A NaN stays a NaN.

#include "kernels/reference.h"

#include "kernels/eltwise/add.h"
#include "kernels/registry.h"

namespace topdnn {

namespace {

template <typename T>
class AddReference : public ReferenceKernel {
 public:
  AddReference(const KernelRequest& request, const AddOp& op)
      : ReferenceKernel(request),
        n_(op.shape().elements()),
        sources_(op.sources()),
        relu_(op.relu()) {}

  void Run() noexcept override {
    T* dst = Data<T>(Arg::kDst);
    for (std::int64_t i = 0; i < n_; ++i) {
      double sum = 0;
      for (int s = 0; s < sources_; ++s) sum += static_cast<double>(Indexed<T>(s)[i]);
      dst[i] = static_cast<T>(relu_ && sum < 0 ? 0.0 : sum);
    }
  }

 private:
  const std::int64_t n_;
  const int sources_;
  const bool relu_;
};

KernelOrRefusal MakeAdd(const KernelRequest& request) {
  return MakeReference<AddOp, AddReference>(request);
}

const KernelRegistration kRegistration("add", "reference", MakeAdd);

}  // namespace

}  // namespace topdnn
