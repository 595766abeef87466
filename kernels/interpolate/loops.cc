// Interpolation as loops in f32. An iteration computes one element of the result; neighbours along
// a row are computed together.

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "kernels/eigen/range_loop.h"
#include "kernels/interpolate/interpolate.h"
#include "kernels/interpolate/pixels.h"
#include "kernels/kernel/fidelity.h"
#include "kernels/kernel/registry.h"

namespace topdnn {

namespace {

// The elements along an axis, as positions in memory, with weights in f32.
struct Axis {
  Axis(const AxisWeights& weights_of_axis, std::int64_t stride)
      : starts(weights_of_axis.starts),
        weights(weights_of_axis.weights.begin(), weights_of_axis.weights.end()) {
    for (const std::int64_t source : weights_of_axis.sources) places.push_back(source * stride);
  }

  std::vector<std::int64_t> starts;
  std::vector<std::int64_t> places;
  std::vector<float> weights;
};

class InterpolateLoop {
 public:
  explicit InterpolateLoop(const KernelRequest& request)
      : InterpolateLoop(request.OpAs<InterpolateOp>(), request.execution.pass == Pass::kForward) {
    cycles_ = 2.0 * static_cast<double>(request.op->AccumulationLength(request.execution.pass) + 2);
  }

  std::int64_t iterations() const { return to_.elements(); }
  double cycles() const { return cycles_; }
  std::array<Arg, kLoopOperands> operands() const {
    if (forward_) return {Arg::kSrc, Arg::kSrc, Arg::kDst};
    return {Arg::kDiffDst, Arg::kDiffDst, Arg::kDiffSrc};
  }

  void Run(const LoopOperands& data, std::int64_t first, std::int64_t end) const {
    const int last = to_.rank() - 1;
    while (first < end) {
      const std::int64_t x = first % to_[last];
      const std::int64_t count = std::min(end - first, to_[last] - x);
      float* result = data[2] + first;
      std::fill_n(result, count, 0.0F);
      AddRows(data[0], 1, last - 1, first / to_[last], {x, count, result});
      first += count;
    }
  }

 private:
  InterpolateLoop(const InterpolateOp& op, bool forward)
      : forward_(forward), to_(forward ? op.dst_shape() : op.src_shape()) {
    const Shape& from = forward ? op.src_shape() : op.dst_shape();
    std::int64_t stride = 1;
    for (int d = to_.rank() - 1; d >= 0; --d) {
      const AxisWeights weights = op.WeightsOf(d);
      axes_.emplace(axes_.begin(), forward ? weights : weights.Transposed(to_[d]), stride);
      stride *= from[d];
    }
  }

  // A part of a row of the result.
  struct Part {
    std::int64_t x, count;
    float* result;
  };

  // Adds the rows that dimensions 0 to d select, times `weight`. `index` is the position in the
  // result of these dimensions; `from` already includes the dimensions between d and the last.
  void AddRows(const float* from, float weight, int d, std::int64_t index, const Part& part) const {
    if (d < 0) return AddRow(from, weight, part);
    const Axis& axis = axes_[static_cast<std::size_t>(d)];
    const std::int64_t outer = index / to_[d];
    const auto i = static_cast<std::size_t>(index - outer * to_[d]);
    for (auto at = static_cast<std::size_t>(axis.starts[i]);
         at < static_cast<std::size_t>(axis.starts[i + 1]); ++at) {
      AddRows(from + axis.places[at], weight * axis.weights[at], d - 1, outer, part);
    }
  }

  void AddRow(const float* from, float weight, const Part& part) const {
    const Axis& axis = axes_.back();
    const std::int64_t* starts = axis.starts.data() + part.x;
    const std::int64_t* places = axis.places.data();
    const float* weights = axis.weights.data();
    for (std::int64_t i = 0; i < part.count; ++i) {
      float sum = 0;
      for (std::int64_t at = starts[i]; at < starts[i + 1]; ++at) {
        sum += weights[at] * from[places[at]];
      }
      part.result[i] += weight * sum;
    }
  }

  const bool forward_;
  const Shape to_;
  std::vector<Axis> axes_;
  double cycles_ = 1;
};

bool RepeatsPixels(const KernelRequest& request) {
  return request.OpAs<InterpolateOp>().RepeatedPixels().has_value();
}

KernelOrRefusal MakeNative(const KernelRequest& request) {
  if (RepeatsPixels(request)) return MakePixelLoops(request);
  return MakeOmpRange<InterpolateLoop>(request);
}

KernelOrRefusal MakeOnEigen(const eigen::Functions& functions, KernelRequest& request) {
  if (RepeatsPixels(request)) return MakePixelsOnEigen(functions, request);
  return eigen::MakeRange<InterpolateLoop>(functions, request);
}

const KernelRegistration kOnNative("interpolate", "native", MakeNative);
const eigen::Registration kOnEigen("interpolate", MakeOnEigen);
const FidelityDeclaration kLoopsFidelity[] = {
    FidelityDeclaration({"interpolate", "eigen", Fidelity::kOurs,
                         "loops on Eigen's pool, where threads share rows; TensorFlow's "
                         "ResizeBilinear computes the weights of each axis once and runs on one "
                         "thread, and ResizeNearestNeighbor's threads share pixels, whose places "
                         "it computes in floating point, and its gradient runs on one thread "
                         "(resize_nearest_neighbor_op.cc)",
                         "resize_bilinear_op.cc"}),
    FidelityDeclaration(
        {"interpolate", "native", Fidelity::kOurs, "loops; Caffe has no such operation"}),
};

}  // namespace

}  // namespace topdnn
