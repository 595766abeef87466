// Resize by its definition; the gradient is summed in double.

#include "kernels/kernel/reference.h"

#include "kernels/kernel/registry.h"
#include "kernels/resize/resize.h"

namespace topdnn {

namespace {

template <typename T>
class ResizeReference : public ReferenceKernel {
 public:
  ResizeReference(const KernelRequest& request, const ResizeOp& op)
      : ReferenceKernel(request), op_(op) {}

  void Run() noexcept override { pass() == Pass::kForward ? Forward() : Backward(); }

 private:
  // The rows of all images, stacked, are resized like the rows of one image.
  std::int64_t SrcRows() const { return op_.src_shape().elements() / op_.src_shape()[3]; }

  void Forward() const {
    const std::int64_t width = op_.dst_shape()[3];
    for (std::int64_t row = 0; row < SrcRows() * op_.scale_h(); ++row) {
      const T* from = Data<T>(Arg::kSrc) + row / op_.scale_h() * op_.src_shape()[3];
      for (std::int64_t col = 0; col < width; ++col) {
        Data<T>(Arg::kDst)[row * width + col] = from[col / op_.scale_w()];
      }
    }
  }

  void Backward() const {
    const std::int64_t width = op_.dst_shape()[3];
    for (std::int64_t i = 0; i < op_.src_shape().elements(); ++i) {
      const std::int64_t top = i / op_.src_shape()[3] * op_.scale_h();
      const std::int64_t left = i % op_.src_shape()[3] * op_.scale_w();
      double sum = 0;
      for (std::int64_t row = top; row < top + op_.scale_h(); ++row) {
        for (std::int64_t col = left; col < left + op_.scale_w(); ++col) {
          sum += static_cast<double>(Data<T>(Arg::kDiffDst)[row * width + col]);
        }
      }
      Data<T>(Arg::kDiffSrc)[i] = static_cast<T>(sum);
    }
  }

  const ResizeOp op_;
};

const KernelRegistration kReference("resize", "reference",
                                    MakeReference<ResizeOp, ResizeReference>);

}  // namespace

}  // namespace topdnn
