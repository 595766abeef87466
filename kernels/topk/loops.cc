// The largest or smallest elements as loops in f32 for all backends, because their libraries lack
// them.

#include <array>
#include <cmath>
#include <cstdint>

#include "kernels/eigen/range_loop.h"
#include "kernels/kernel/fidelity.h"
#include "kernels/kernel/registry.h"
#include "kernels/topk/topk.h"

namespace topdnn {

namespace {

// An iteration is a row along the axis. It searches once for each element of the result, for the
// element that follows the one found before.
class TopKLoop {
 public:
  explicit TopKLoop(const KernelRequest& request)
      : op_(request.OpAs<TopKOp>()),
        stride_(op_.stride()),
        extent_(op_.extent()),
        settings_(op_.settings()) {}

  std::int64_t iterations() const { return op_.rows(); }
  double cycles() const {
    return 2.0 * static_cast<double>(extent_) * static_cast<double>(settings_.k);
  }
  std::array<Arg, kLoopOperands> operands() const { return {Arg::kSrc, Arg::kSrc, Arg::kDst}; }

  void Run(const LoopOperands& data, std::int64_t first, std::int64_t end) const {
    for (std::int64_t row = first; row < end; ++row) {
      const std::int64_t outer = row / stride_, inner = row % stride_;
      const float* src = data[0] + outer * stride_ * extent_ + inner;
      float* dst = data[2] + outer * stride_ * settings_.k + inner;
      std::int64_t last = -1;
      for (std::int64_t i = 0; i < settings_.k; ++i) {
        last = Next(src, last);
        dst[i * stride_] = settings_.indices ? static_cast<float>(last) : src[last * stride_];
      }
    }
  }

 private:
  // Whether element a of the row comes before element b.
  bool Precedes(const float* src, std::int64_t a, std::int64_t b) const {
    const float x = src[a * stride_], y = src[b * stride_];
    if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && (!std::isnan(y) || a < b);
    if (x == y) return a < b;
    return settings_.largest ? x > y : x < y;
  }

  // The first element of those that come after element `last`; of all when it is -1.
  std::int64_t Next(const float* src, std::int64_t last) const {
    std::int64_t best = -1;
    for (std::int64_t i = 0; i < extent_; ++i) {
      if (last >= 0 && !Precedes(src, last, i)) continue;
      if (best < 0 || Precedes(src, i, best)) best = i;
    }
    return best;
  }

  const TopKOp op_;
  const std::int64_t stride_, extent_;
  const TopKSettings settings_;
};

const KernelRegistration kOnNative("topk", "native", MakeOmpRange<TopKLoop>);
const eigen::Registration kForEigen("topk", eigen::MakeRange<TopKLoop>);
const FidelityDeclaration kLoopsFidelity[] = {
    FidelityDeclaration(
        {"topk", "eigen", Fidelity::kOurs,
         "a search for each result, rows shared by the threads; TensorFlow keeps the largest of a "
         "row in a heap, sorts when k is the length, and reduces when k is 1",
         "topk_op.cc"}),
    FidelityDeclaration({"topk", "native", Fidelity::kOurs,
                         "a search on all threads; Caffe sorts on one", "layers/argmax_layer.cpp"}),
};

}  // namespace

}  // namespace topdnn
