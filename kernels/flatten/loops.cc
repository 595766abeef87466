// Flatten of a row-major tensor in f32 as copies of rows, for a backend whose library has none.

#include <cstring>

#include "kernels/flatten/flatten.h"
#include "kernels/omp_loops.h"
#include "kernels/registry.h"

namespace topdnn {

namespace {

class FlattenLoops : public LoopsKernel {
 public:
  FlattenLoops(const KernelRequest& request, const FlattenOp& op)
      : LoopsKernel(request),
        rows_(op.dst_shape()[0]),
        length_(op.dst_shape()[1]),
        from_(request.execution.pass == Pass::kForward ? Arg::kSrc : Arg::kDiffDst),
        to_(request.execution.pass == Pass::kForward ? Arg::kDst : Arg::kDiffSrc) {}

  void Run() noexcept override {
    const float* from = Data<float>(from_);
    float* to = Data<float>(to_);
#pragma omp parallel for if (rows_ * length_ >= kElementsWorthATeam)
    for (std::int64_t row = 0; row < rows_; ++row) {
      std::memcpy(to + row * length_, from + row * length_,
                  static_cast<std::size_t>(length_) * sizeof(float));
    }
  }

 private:
  const std::int64_t rows_, length_;
  const Arg from_, to_;
};

const KernelRegistration kRegistration("flatten", "openblas", MakeLoops<FlattenOp, FlattenLoops>);

}  // namespace

}  // namespace topdnn
