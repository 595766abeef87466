// Repeats pixels in f32 by loops over rows.

#include <cstring>

#include "kernels/interpolate/interpolate.h"
#include "kernels/interpolate/pixels.h"
#include "kernels/kernel/omp_loops.h"

namespace topdnn {

namespace {

class PixelLoops : public LoopsKernel {
 public:
  PixelLoops(const KernelRequest& request, const InterpolateOp& op)
      : LoopsKernel(request),
        rows_(op.src_shape().elements() / op.src_shape()[3]),
        src_width_(op.src_shape()[3]),
        dst_width_(op.dst_shape()[3]),
        factors_(*op.RepeatedPixels()) {}

  void Run() noexcept override {
#pragma omp parallel for if (rows_ * factors_.h * dst_width_ >= kMinParallelElements)
    for (std::int64_t row = 0; row < rows_; ++row) {
      const std::int64_t small = row * src_width_;
      const std::int64_t large = row * factors_.h * dst_width_;
      if (pass() == Pass::kForward) {
        Repeat(Data<float>(Arg::kSrc) + small, Data<float>(Arg::kDst) + large);
      } else {
        Sum(Data<float>(Arg::kDiffDst) + large, Data<float>(Arg::kDiffSrc) + small);
      }
    }
  }

 private:
  // Writes one row of src to its rows of dst: the first element by element, the others as copies.
  void Repeat(const float* src, float* dst) const {
    float* to = dst;
    for (std::int64_t col = 0; col < src_width_; ++col) {
      for (std::int64_t i = 0; i < factors_.w; ++i) *to++ = src[col];
    }
    for (std::int64_t i = 1; i < factors_.h; ++i) {
      std::memcpy(dst + i * dst_width_, dst, static_cast<std::size_t>(dst_width_) * sizeof(float));
    }
  }

  // Sums the rows that were copied from one row into that row.
  void Sum(const float* diff_dst, float* diff_src) const {
    for (std::int64_t col = 0; col < src_width_; ++col) {
      float sum = 0;
      for (std::int64_t row = 0; row < factors_.h; ++row) {
        const float* from = diff_dst + row * dst_width_ + col * factors_.w;
        for (std::int64_t i = 0; i < factors_.w; ++i) sum += from[i];
      }
      diff_src[col] = sum;
    }
  }

  const std::int64_t rows_, src_width_, dst_width_;
  const PixelFactors factors_;
};

}  // namespace

KernelOrRefusal MakePixelLoops(const KernelRequest& request) {
  return MakeLoops<InterpolateOp, PixelLoops>(request);
}

}  // namespace topdnn
