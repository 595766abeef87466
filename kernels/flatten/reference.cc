// Flatten of a row-major tensor: the same elements in the same order.

#include "kernels/kernel/reference.h"

#include <algorithm>

#include "kernels/flatten/flatten.h"
#include "kernels/kernel/registry.h"

namespace topdnn {

namespace {

template <typename T>
class FlattenReference : public ReferenceKernel {
 public:
  FlattenReference(const KernelRequest& request, const FlattenOp& op)
      : ReferenceKernel(request),
        n_(op.src_shape().elements()),
        from_(request.execution.pass == Pass::kForward ? Arg::kSrc : Arg::kDiffDst),
        to_(request.execution.pass == Pass::kForward ? Arg::kDst : Arg::kDiffSrc) {}

  void Run() noexcept override { std::copy_n(Data<T>(from_), n_, Data<T>(to_)); }

 private:
  const std::int64_t n_;
  const Arg from_, to_;
};

const KernelRegistration kFlattenReference("flatten", "reference",
                                           MakeReference<FlattenOp, FlattenReference>);

}  // namespace

}  // namespace topdnn
