// Interpolation as loops in f32. An iteration computes one element of the result.

#include "kernels/interpolate/loops.h"

#include <array>
#include <cstdint>
#include <vector>

#include "kernels/eigen/range_loop.h"
#include "kernels/fidelity.h"
#include "kernels/interpolate/interpolate.h"
#include "kernels/registry.h"

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
      : InterpolateLoop(dynamic_cast<const InterpolateOp&>(*request.op),
                        request.execution.pass == Pass::kForward) {
    cycles_ = 4.0 * static_cast<double>(request.op->AccumulationLength(request.execution.pass) + 4);
  }

  std::int64_t iterations() const { return to_.elements(); }
  double cycles() const { return cycles_; }
  std::array<Arg, kLoopOperands> operands() const {
    if (forward_) return {Arg::kSrc, Arg::kSrc, Arg::kDst};
    return {Arg::kDiffDst, Arg::kDiffDst, Arg::kDiffSrc};
  }

  void Run(const LoopOperands& data, std::int64_t first, std::int64_t end) const {
    for (std::int64_t i = first; i < end; ++i) {
      data[2][i] = Sum(data[0], to_.rank() - 1, i);
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

  // The sum over dimensions 0 to d. `index` is the position in the result without the dimensions
  // after d; `from` already includes these.
  float Sum(const float* from, int d, std::int64_t index) const {
    if (d < 0) return *from;
    const Axis& axis = axes_[static_cast<std::size_t>(d)];
    const std::int64_t outer = index / to_[d];
    const auto i = static_cast<std::size_t>(index - outer * to_[d]);
    float sum = 0;
    for (auto at = static_cast<std::size_t>(axis.starts[i]);
         at < static_cast<std::size_t>(axis.starts[i + 1]); ++at) {
      sum += axis.weights[at] * Sum(from + axis.places[at], d - 1, outer);
    }
    return sum;
  }

  const bool forward_;
  const Shape to_;
  std::vector<Axis> axes_;
  double cycles_ = 1;
};

const KernelRegistration kForOpenBlas("interpolate", "openblas", MakeInterpolateLoops);
const eigen::Registration kForEigen("interpolate", eigen::MakeRange<InterpolateLoop>);
const FidelityDeclaration kFidelity[] = {
    FidelityDeclaration({"interpolate", "eigen", Fidelity::kNotCompared, "loops on Eigen's pool"}),
    FidelityDeclaration(
        {"interpolate", "openblas", Fidelity::kOurs, "loops; Caffe has no such operation"}),
};

}  // namespace

KernelOrRefusal MakeInterpolateLoops(const KernelRequest& request) {
  return MakeOmpRange<InterpolateLoop>(request);
}

}  // namespace topdnn
