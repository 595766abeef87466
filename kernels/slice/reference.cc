// A slice by its definition: element by element over row-major tensors, sums in double.

#include "kernels/kernel/reference.h"

#include <map>
#include <vector>

#include "kernels/kernel/registry.h"
#include "kernels/slice/slice.h"

namespace topdnn {

namespace {

template <typename T>
class SliceReference : public ReferenceKernel {
 public:
  SliceReference(const KernelRequest& request, const SliceOp& op)
      : ReferenceKernel(request), op_(op) {
    if (!forward()) {
      scratch_bytes_ = static_cast<std::size_t>(op.src_shape().elements()) * sizeof(double);
    }
  }

  void Prepare(const std::map<Arg, void*>& memory) override {
    ReferenceKernel::Prepare(memory);
    if (!forward()) sums_.resize(static_cast<std::size_t>(op_.src_shape().elements()));
  }

  void Run() noexcept override {
    if (forward()) {
      for (std::int64_t i = 0; i < op_.dst_shape().elements(); ++i) {
        const std::int64_t source = PlaceOf(i);
        Data<T>(Arg::kDst)[i] =
            source < 0 ? static_cast<T>(op_.fill()) : Data<T>(Arg::kSrc)[source];
      }
      return;
    }
    for (double& sum : sums_) sum = 0;
    for (std::int64_t i = 0; i < op_.dst_shape().elements(); ++i) {
      const std::int64_t source = PlaceOf(i);
      if (source < 0) continue;
      sums_[static_cast<std::size_t>(source)] += static_cast<double>(Data<T>(Arg::kDiffDst)[i]);
    }
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      Data<T>(Arg::kDiffSrc)[i] = static_cast<T>(sums_[i]);
    }
  }

 private:
  // The position in the source of the element `i` of the result; -1: the fill value.
  std::int64_t PlaceOf(std::int64_t i) const {
    std::int64_t place = 0;
    std::int64_t stride = 1;
    for (int d = op_.src_shape().rank() - 1; d >= 0; --d) {
      const std::int64_t source = op_.SourceOf(d, i % op_.dst_shape()[d]);
      if (source < 0) return -1;
      place += source * stride;
      stride *= op_.src_shape()[d];
      i /= op_.dst_shape()[d];
    }
    return place;
  }

  const SliceOp op_;
  std::vector<double> sums_;
};

const KernelRegistration kSliceReference("slice", "reference",
                                         MakeReference<SliceOp, SliceReference>);

}  // namespace

}  // namespace topdnn
