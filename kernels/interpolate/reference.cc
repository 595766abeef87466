// Interpolation by its definition: each element is the sum over all weights of all axes, in double.

#include "kernels/kernel/reference.h"

#include <vector>

#include "kernels/interpolate/interpolate.h"
#include "kernels/kernel/registry.h"

namespace topdnn {

namespace {

template <typename T>
class InterpolateReference : public ReferenceKernel {
 public:
  InterpolateReference(const KernelRequest& request, const InterpolateOp& op)
      : ReferenceKernel(request),
        from_(forward() ? op.src_shape() : op.dst_shape()),
        to_(forward() ? op.dst_shape() : op.src_shape()) {
    for (int d = 0; d < to_.rank(); ++d) {
      const AxisWeights axis = op.WeightsOf(d);
      axes_.push_back(forward() ? axis : axis.Transposed(to_[d]));
    }
  }

  void Run() noexcept override {
    T* result = Data<T>(forward() ? Arg::kDst : Arg::kDiffSrc);
    for (std::int64_t i = 0; i < to_.elements(); ++i) {
      result[i] = static_cast<T>(Sum(to_.rank() - 1, i, 0, 1));
    }
  }

 private:
  // The sum over dimensions 0 to d. `index` is the position in the result without the dimensions
  // after d. `place` is what these dimensions add to the position in the source. `stride` is the
  // source's stride of dimension d.
  double Sum(int d, std::int64_t index, std::int64_t place, std::int64_t stride) const {
    if (d < 0) return static_cast<double>(Data<T>(forward() ? Arg::kSrc : Arg::kDiffDst)[place]);
    const AxisWeights& axis = axes_[static_cast<std::size_t>(d)];
    const auto i = static_cast<std::size_t>(index % to_[d]);
    double sum = 0;
    for (std::int64_t at = axis.starts[i]; at < axis.starts[i + 1]; ++at) {
      const auto entry = static_cast<std::size_t>(at);
      sum += axis.weights[entry] *
             Sum(d - 1, index / to_[d], place + axis.sources[entry] * stride, stride * from_[d]);
    }
    return sum;
  }

  const Shape from_, to_;
  std::vector<AxisWeights> axes_;
};

const KernelRegistration kInterpolateReference("interpolate", "reference",
                                               MakeReference<InterpolateOp, InterpolateReference>);

}  // namespace

}  // namespace topdnn
