// Pooling over one to three spatial dimensions by its definition: all elements of each window, one
// after the other, with sums in double.

#include "kernels/kernel/reference.h"

#include <array>
#include <cmath>
#include <limits>

#include "kernels/kernel/registry.h"
#include "kernels/pool_nd/pool_nd.h"

namespace topdnn {

namespace {

// Collects the elements of a window.
struct Window {
  double max = -std::numeric_limits<double>::infinity();
  double sum = 0, powers = 0;
  std::int64_t inside = 0, padded = 0;  // elements of the image, and with the padding

  void Add(double x, double p) {
    if (x > max || std::isnan(x)) max = x;
    sum += x;
    powers += std::pow(std::abs(x), p);
    ++inside;
  }
  double Result(PoolNdAlgorithm algorithm, double p) const {
    switch (algorithm) {
      case PoolNdAlgorithm::kMax:
        return max;
      case PoolNdAlgorithm::kAverage:
        return sum / static_cast<double>(inside);
      case PoolNdAlgorithm::kAverageOfPadding:
        return sum / static_cast<double>(padded);
      case PoolNdAlgorithm::kLp:
        break;
    }
    return std::pow(powers, 1 / p);
  }
};

template <typename T>
class PoolNdReference : public ReferenceKernel {
 public:
  PoolNdReference(const KernelRequest& request, const PoolNdOp& op)
      : ReferenceKernel(request), algorithm_(op.algorithm()), e_(op.extents()) {}

  void Run() noexcept override {
    const auto& [d, h, w] = axes_;
    std::int64_t at = 0;
    for (std::int64_t plane = 0; plane < e_.n * e_.c; ++plane) {
      const T* src = Data<T>(Arg::kSrc) + plane * d.extent * h.extent * w.extent;
      for (std::int64_t z = 0; z < PooledExtent(d, e_.ceil_mode); ++z) {
        for (std::int64_t y = 0; y < PooledExtent(h, e_.ceil_mode); ++y) {
          for (std::int64_t x = 0; x < PooledExtent(w, e_.ceil_mode); ++x) {
            const double result = Collect(src, {z, y, x}).Result(algorithm_, Power());
            Data<T>(Arg::kDst)[at++] = static_cast<T>(result);
          }
        }
      }
    }
  }

 private:
  double Power() const { return static_cast<double>(e_.p); }

  Window Collect(const T* src, const std::array<std::int64_t, kMaxSpatialAxes>& output) const {
    const auto& [d, h, w] = axes_;
    Window window;
    for (std::int64_t t = 0; t < d.kernel; ++t) {
      for (std::int64_t r = 0; r < h.kernel; ++r) {
        for (std::int64_t s = 0; s < w.kernel; ++s) {
          const std::int64_t z = d.Start(output[0]) + t * d.dilation;
          const std::int64_t y = h.Start(output[1]) + r * h.dilation;
          const std::int64_t x = w.Start(output[2]) + s * w.dilation;
          if (z < d.extent + d.pad_after && y < h.extent + h.pad_after &&
              x < w.extent + w.pad_after) {
            ++window.padded;
          }
          if (z < 0 || z >= d.extent || y < 0 || y >= h.extent || x < 0 || x >= w.extent) continue;
          window.Add(static_cast<double>(src[(z * h.extent + y) * w.extent + x]), Power());
        }
      }
    }
    return window;
  }

  const PoolNdAlgorithm algorithm_;
  const PoolNdExtents e_;
  const std::array<SpatialAxis, kMaxSpatialAxes> axes_ = InThree(e_.axes);
};

const KernelRegistration kPoolNdReference("pool_nd", "reference",
                                          MakeReference<PoolNdOp, PoolNdReference>);

}  // namespace

}  // namespace topdnn
