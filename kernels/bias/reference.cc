// Bias by its definition over row-major tensors, sums in double. A NaN stays a NaN.

#include "kernels/kernel/reference.h"

#include "kernels/bias/bias.h"
#include "kernels/kernel/registry.h"

namespace topdnn {

namespace {

template <typename T>
class BiasReference : public ReferenceKernel {
 public:
  BiasReference(const KernelRequest& request, const BiasOp& op)
      : ReferenceKernel(request),
        n_(op.shape()[0]),
        c_(op.channels()),
        pixels_(op.shape().elements() / n_ / c_) {}

  void Run() noexcept override { pass() == Pass::kForward ? Forward() : Backward(); }

 private:
  void Forward() const {
    for (std::int64_t plane = 0; plane < n_ * c_; ++plane) {
      const auto bias = static_cast<double>(Data<T>(Arg::kBias)[plane % c_]);
      for (std::int64_t i = plane * pixels_; i < (plane + 1) * pixels_; ++i) {
        Data<T>(Arg::kDst)[i] = static_cast<T>(static_cast<double>(Data<T>(Arg::kSrc)[i]) + bias);
      }
    }
  }

  void Backward() const {
    for (std::int64_t c = 0; c < c_; ++c) {
      double sum = 0;
      for (std::int64_t n = 0; n < n_; ++n) {
        const T* plane = Data<T>(Arg::kDiffDst) + (n * c_ + c) * pixels_;
        for (std::int64_t i = 0; i < pixels_; ++i) sum += static_cast<double>(plane[i]);
      }
      Data<T>(Arg::kDiffBias)[c] = static_cast<T>(sum);
    }
  }

  const std::int64_t n_, c_, pixels_;
};

const KernelRegistration kBiasReference("bias", "reference", MakeReference<BiasOp, BiasReference>);

}  // namespace

}  // namespace topdnn
