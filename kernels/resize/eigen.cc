// Resize on Eigen, all channels of a pixel at a time.

#include "kernels/eigen/kernel.h"
#include "kernels/kernel/fidelity.h"
#include "kernels/resize/resize.h"

namespace topdnn {

namespace {

class ResizeEigen : public eigen::EigenKernel {
 public:
  ResizeEigen(const KernelRequest& request, const eigen::Functions& functions, const ResizeOp& op)
      : EigenKernel(request, functions, "pixels"),
        op_(op),
        rows_(op.src_shape()[0] * op.src_shape()[2]) {}

 private:
  void Compute() override {
    const std::int64_t c = op_.src_shape()[1];
    const std::int64_t w = op_.src_shape()[3];
    if (forward()) {
      functions().resize(pool(), rows_, w, c, op_.scale_h(), op_.scale_w(), Data(Arg::kSrc),
                         Data(Arg::kDst));
    } else {
      functions().resize_backward(pool(), rows_, w, c, op_.scale_h(), op_.scale_w(),
                                  Data(Arg::kDiffDst), Data(Arg::kDiffSrc));
    }
  }

  const ResizeOp op_;
  const std::int64_t rows_;  // source rows of all images
};

KernelOrRefusal MakeEigenResize(const eigen::Functions& functions, KernelRequest& request) {
  if (auto refusal = eigen::SettleAll(request, 4, Layout::ChannelsLast)) {
    return *std::move(refusal);
  }
  return eigen::Make<ResizeEigen, ResizeOp>(functions, request);
}

const eigen::Registration kEigen("resize", MakeEigenResize);
const FidelityDeclaration kEigenFidelity(
    {"resize", "eigen", Fidelity::kOurs,
     "threads share rows; TensorFlow's share pixels, whose places it computes in floating point, "
     "and its gradient runs on one thread",
     "resize_nearest_neighbor_op.cc"});

}  // namespace

}  // namespace topdnn
