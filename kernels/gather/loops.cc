// A gather as loops in f32 for all backends, because their libraries lack it.

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "kernels/eigen/range_loop.h"
#include "kernels/gather/gather.h"
#include "kernels/kernel/fidelity.h"
#include "kernels/kernel/registry.h"

namespace topdnn {

namespace {

// An iteration copies the `inner` elements for one index.
class GatherLoop {
 public:
  explicit GatherLoop(const KernelRequest& request)
      : op_(request.OpAs<GatherOp>()), e_(op_.extents()) {}

  std::int64_t iterations() const { return e_.outer * e_.count; }
  double cycles() const { return 4.0 + static_cast<double>(e_.inner) / 4; }
  std::array<Arg, kLoopOperands> operands() const {
    return {op_.src_arg(), op_.indices_arg(), Arg::kDst};
  }

  void Run(const LoopOperands& data, std::int64_t first, std::int64_t end) const {
    for (std::int64_t row = first; row < end; ++row) {
      const std::int64_t at = op_.PositionOf(static_cast<double>(data[1][row % e_.count]));
      float* dst = data[2] + row * e_.inner;
      if (at < 0) {
        std::fill_n(dst, e_.inner, std::numeric_limits<float>::quiet_NaN());
      } else {
        std::copy_n(data[0] + (row / e_.count * e_.extent + at) * e_.inner, e_.inner, dst);
      }
    }
  }

 private:
  const GatherOp op_;
  const GatherExtents e_;
};

const KernelRegistration kOnNative("gather", "native", MakeOmpRange<GatherLoop>);
const eigen::Registration kForEigen("gather", eigen::MakeRange<GatherLoop>);
const FidelityDeclaration kLoopsFidelity[] = {
    FidelityDeclaration(
        {"gather", "eigen", Fidelity::kOurs,
         "copies on Eigen's pool, with our estimate of their cost; a bad index gives NaN; "
         "TensorFlow prefetches the next row, and a bad index is an error",
         "gather_functor.h"}),
    FidelityDeclaration({"gather", "native", Fidelity::kOurs,
                         "copies on all threads; Caffe's are serial",
                         "layers/batch_reindex_layer.cpp"}),
};

}  // namespace

}  // namespace topdnn
