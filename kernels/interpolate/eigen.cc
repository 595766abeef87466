// Repeats pixels on Eigen, all channels of a pixel at a time.

#include "kernels/interpolate/interpolate.h"
#include "kernels/interpolate/pixels.h"

namespace topdnn {

namespace {

class PixelsEigen : public eigen::EigenKernel {
 public:
  PixelsEigen(const KernelRequest& request, const eigen::Functions& functions,
              const InterpolateOp& op)
      : EigenKernel(request, functions, "pixels"),
        factors_(*op.RepeatedPixels()),
        rows_(op.src_shape()[0] * op.src_shape()[2]),
        w_(op.src_shape()[3]),
        c_(op.src_shape()[1]) {}

 private:
  void Compute() override {
    if (forward()) {
      functions().resize(pool(), rows_, w_, c_, factors_.h, factors_.w, Data(Arg::kSrc),
                         Data(Arg::kDst));
    } else {
      functions().resize_backward(pool(), rows_, w_, c_, factors_.h, factors_.w,
                                  Data(Arg::kDiffDst), Data(Arg::kDiffSrc));
    }
  }

  const PixelFactors factors_;
  const std::int64_t rows_;  // source rows of all images
  const std::int64_t w_, c_;
};

}  // namespace

KernelOrRefusal MakePixelsOnEigen(const eigen::Functions& functions, KernelRequest& request) {
  if (auto refusal = eigen::SettleAll(request, 4, Layout::ChannelsLast)) {
    return *std::move(refusal);
  }
  return eigen::Make<PixelsEigen, InterpolateOp>(functions, request);
}

}  // namespace topdnn
