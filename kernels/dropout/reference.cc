// Dropout by its definition: plain loops over row-major tensors.

#include "kernels/kernel/reference.h"

#include "kernels/dropout/dropout.h"
#include "kernels/kernel/registry.h"

namespace topdnn {

namespace {

template <typename T>
class DropoutReference : public ReferenceKernel {
 public:
  DropoutReference(const KernelRequest& request, const DropoutOp& op)
      : ReferenceKernel(request),
        n_(op.shape().elements()),
        draws_(op.mask_shape().elements()),
        mask_(op.mask()),
        scale_(op.scale()) {}

  void Run() noexcept override {
    if (pass() == Pass::kBackwardData) {
      Scale(Data<T>(Arg::kDiffDst), Data<T>(Arg::kDiffSrc));
      return;
    }
    if (training()) Draw();
    Scale(Data<T>(Arg::kSrc), Data<T>(Arg::kDst));
  }

 private:
  void Draw() const {
    auto* step = Data<std::int32_t>(Arg::kStep);
    for (std::int64_t i = 0; i < draws_; ++i) {
      Data<std::uint8_t>(Arg::kWorkspace)[i] =
          mask_.Block(i / 4, *step)[static_cast<std::size_t>(i % 4)];
    }
    *step = static_cast<std::int32_t>(static_cast<std::uint32_t>(*step) + 1);
  }

  void Scale(const T* from, T* to) const {
    const auto* mask = Data<std::uint8_t>(Arg::kWorkspace);
    for (std::int64_t i = 0; i < n_; ++i) {
      if (mask == nullptr) {
        to[i] = from[i];
      } else {
        to[i] = mask[i / (n_ / draws_)] == 0
                    ? T{0}
                    : static_cast<T>(static_cast<double>(from[i]) * scale_);
      }
    }
  }

  const std::int64_t n_, draws_;
  const DropoutMask mask_;
  const double scale_;
};

const KernelRegistration kDropoutReference("dropout", "reference",
                                           MakeReference<DropoutOp, DropoutReference>);

}  // namespace

}  // namespace topdnn
