// Pooling over one to three spatial dimensions as loops in f32. An iteration
// computes one element of the result.

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/eigen/range_loop.h"
#include "kernels/kernel/fidelity.h"
#include "kernels/kernel/registry.h"
#include "kernels/pool_nd/pool_nd.h"

namespace topdnn {

namespace {

class PoolNdLoop {
 public:
  explicit PoolNdLoop(const KernelRequest& request) : PoolNdLoop(request.OpAs<PoolNdOp>()) {}

  std::int64_t iterations() const { return iterations_; }
  double cycles() const { return cycles_; }
  std::array<Arg, kLoopOperands> operands() const { return {Arg::kSrc, Arg::kSrc, Arg::kDst}; }

  void Run(const LoopOperands& data, std::int64_t first, std::int64_t end) const {
    switch (algorithm_) {
      case PoolNdAlgorithm::kMax:
        return RunAs<PoolNdAlgorithm::kMax>(data, first, end);
      case PoolNdAlgorithm::kAverage:
      case PoolNdAlgorithm::kAverageOfPadding:
        return RunAs<PoolNdAlgorithm::kAverage>(data, first, end);
      case PoolNdAlgorithm::kLp:
        return RunAs<PoolNdAlgorithm::kLp>(data, first, end);
    }
  }

 private:
  explicit PoolNdLoop(const PoolNdOp& op)
      : algorithm_(op.algorithm()),
        d_(InThree(op.extents().axes)[0]),
        h_(InThree(op.extents().axes)[1]),
        w_(InThree(op.extents().axes)[2]),
        od_(PooledExtent(d_, op.extents().ceil_mode)),
        oh_(PooledExtent(h_, op.extents().ceil_mode)),
        ow_(PooledExtent(w_, op.extents().ceil_mode)),
        p_(op.extents().p),
        iterations_(op.dst_shape().elements()),
        cycles_(8.0 + static_cast<double>(d_.kernel * h_.kernel * w_.kernel) *
                          (algorithm_ == PoolNdAlgorithm::kLp && p_ > 2 ? 40 : 1)) {}

  template <PoolNdAlgorithm algorithm>
  void RunAs(const LoopOperands& data, std::int64_t first, std::int64_t end) const {
    for (std::int64_t i = first; i < end; ++i) data[2][i] = Pooled<algorithm>(data[0], i);
  }

  // Both averages have the same sums.
  template <PoolNdAlgorithm algorithm>
  float Pooled(const float* src, std::int64_t index) const {
    const PooledTaps along_w = TapsAt(w_, index % ow_);
    const PooledTaps along_h = TapsAt(h_, index / ow_ % oh_);
    const PooledTaps along_d = TapsAt(d_, index / ow_ / oh_ % od_);
    const std::int64_t plane = index / ow_ / oh_ / od_;
    const std::int64_t start = w_.Start(index % ow_);
    float result =
        algorithm == PoolNdAlgorithm::kMax ? -std::numeric_limits<float>::infinity() : 0.0F;
    for (std::int64_t t = along_d.first; t < along_d.end; ++t) {
      const std::int64_t z = d_.Start(index / ow_ / oh_ % od_) + t * d_.dilation;
      for (std::int64_t r = along_h.first; r < along_h.end; ++r) {
        const std::int64_t y = h_.Start(index / ow_ % oh_) + r * h_.dilation;
        const float* row = src + ((plane * d_.extent + z) * h_.extent + y) * w_.extent;
        for (std::int64_t s = along_w.first; s < along_w.end; ++s) {
          Add<algorithm>(row[start + s * w_.dilation], result);
        }
      }
    }
    const std::int64_t inside = (along_d.end - along_d.first) * (along_h.end - along_h.first) *
                                (along_w.end - along_w.first);
    return Finish(result, inside, along_d.padded * along_h.padded * along_w.padded);
  }

  template <PoolNdAlgorithm algorithm>
  void Add(float x, float& result) const {
    if constexpr (algorithm == PoolNdAlgorithm::kMax) {
      if (x > result || std::isnan(x)) result = x;
    } else if constexpr (algorithm == PoolNdAlgorithm::kAverage) {
      result += x;
    } else if (p_ == 2) {
      result += x * x;
    } else {
      result += p_ == 1 ? std::abs(x) : std::pow(std::abs(x), static_cast<float>(p_));
    }
  }

  float Finish(float sum, std::int64_t inside, std::int64_t padded) const {
    switch (algorithm_) {
      case PoolNdAlgorithm::kMax:
        return sum;
      case PoolNdAlgorithm::kAverage:
        return sum / static_cast<float>(inside);
      case PoolNdAlgorithm::kAverageOfPadding:
        return sum / static_cast<float>(padded);
      case PoolNdAlgorithm::kLp:
        break;
    }
    if (p_ == 1) return sum;
    return p_ == 2 ? std::sqrt(sum) : std::pow(sum, 1.0F / static_cast<float>(p_));
  }

  const PoolNdAlgorithm algorithm_;
  const SpatialAxis d_, h_, w_;
  const std::int64_t od_, oh_, ow_;  // extents of dst
  const std::int64_t p_;
  const std::int64_t iterations_;
  const double cycles_;
};

const KernelRegistration kOnNative("pool_nd", "native", MakeOmpRange<PoolNdLoop>);
const eigen::Registration kForEigen("pool_nd", eigen::MakeRange<PoolNdLoop>);
const FidelityDeclaration kLoopsFidelity[] = {
    FidelityDeclaration({"pool_nd", "eigen", Fidelity::kOurs,
                         "loops on Eigen's pool; TensorFlow evaluates Eigen's cuboid pooling, and "
                         "the gradient of maxima by expressions for each window",
                         "pooling_ops_3d.cc"}),
    FidelityDeclaration({"pool_nd", "native", Fidelity::kOurs,
                         "loops on all threads; Caffe pools over height and width alone",
                         "layers/pooling_layer.cpp"}),
};

}  // namespace

}  // namespace topdnn
