// A slice as loops in f32.

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/eigen/range_loop.h"
#include "kernels/kernel/fidelity.h"
#include "kernels/kernel/registry.h"
#include "kernels/slice/slice.h"

namespace topdnn {

namespace {

// Forward, an iteration is a chunk of the result whose elements are neighbours in the source, too,
// or are all the fill value. Backward, where several elements may add to one, it is what belongs to
// one index of the first dimensions that the slice keeps whole: mostly an image.
class SliceLoop {
 public:
  explicit SliceLoop(const KernelRequest& request)
      : op_(request.OpAs<SliceOp>()), forward_(request.execution.pass == Pass::kForward) {
    while (kept_ < op_.src_shape().rank() && Keeps(kept_)) images_ *= op_.src_shape()[kept_++];
    // (longer chunks would leave threads without work)
    constexpr std::int64_t kLongEnough = 1024;
    for (outer_ = op_.src_shape().rank(); outer_ > 0 && chunk_ < kLongEnough; --outer_) {
      if (!forward_ && outer_ == kept_) break;
      const SliceAxis& axis = op_.axes()[static_cast<std::size_t>(outer_) - 1];
      const std::int64_t extent = op_.src_shape()[outer_ - 1];
      if (axis.step != 1 || axis.start < 0 || axis.start + axis.extent > extent) break;
      start_ += axis.start * stride_;
      chunk_ *= axis.extent;
      stride_ *= extent;
      if (axis.extent != extent) {  // the next chunk is elsewhere in the source
        --outer_;
        break;
      }
    }
  }

  std::int64_t iterations() const { return forward_ ? Chunks() : images_; }
  double cycles() const {
    const std::int64_t touched = forward_ ? chunk_ : op_.src_shape().elements() / images_;
    return 4.0 + static_cast<double>(touched) / 4;
  }
  std::array<Arg, kLoopOperands> operands() const {
    if (forward_) return {Arg::kSrc, Arg::kSrc, Arg::kDst};
    return {Arg::kDiffDst, Arg::kDiffDst, Arg::kDiffSrc};
  }

  void Run(const LoopOperands& data, std::int64_t first, std::int64_t end) const {
    if (forward_) {
      for (std::int64_t i = first; i < end; ++i) {
        const std::int64_t place = PlaceOf(i);
        if (place < 0) {
          std::fill_n(data[2] + i * chunk_, chunk_, op_.fill());
        } else {
          std::copy_n(data[0] + place, chunk_, data[2] + i * chunk_);
        }
      }
      return;
    }
    const std::int64_t sources = op_.src_shape().elements() / images_;
    const std::int64_t chunks = Chunks() / images_;
    std::fill_n(data[2] + first * sources, (end - first) * sources, 0.0F);
    for (std::int64_t i = first * chunks; i < end * chunks; ++i) {
      const std::int64_t place = PlaceOf(i);
      for (std::int64_t j = 0; place >= 0 && j < chunk_; ++j) {
        data[2][place + j] += data[0][i * chunk_ + j];
      }
    }
  }

 private:
  bool Keeps(int d) const {
    const SliceAxis& axis = op_.axes()[static_cast<std::size_t>(d)];
    return axis.start == 0 && axis.step == 1 && axis.extent == op_.src_shape()[d];
  }
  std::int64_t Chunks() const { return op_.dst_shape().elements() / chunk_; }

  // The position in the source of the chunk `i` of the result; -1: the fill value.
  std::int64_t PlaceOf(std::int64_t i) const {
    std::int64_t place = start_;
    std::int64_t stride = stride_;
    for (int d = outer_ - 1; d >= 0; --d) {
      const std::int64_t source = op_.SourceOf(d, i % op_.dst_shape()[d]);
      if (source < 0) return -1;
      place += source * stride;
      stride *= op_.src_shape()[d];
      i /= op_.dst_shape()[d];
    }
    return place;
  }

  const SliceOp op_;
  const bool forward_;
  int kept_ = 0;             // number of first dimensions that the slice keeps whole
  std::int64_t images_ = 1;  // product of their extents
  int outer_ = 0;            // number of dimensions before those of a chunk
  std::int64_t start_ = 0;   // of a chunk, in the source
  std::int64_t chunk_ = 1;   // number of elements
  std::int64_t stride_ = 1;  // in the source, of the last dimension before those of a chunk
};

const KernelRegistration kOnNative("slice", "native", MakeOmpRange<SliceLoop>);
const eigen::Registration kForEigen("slice", eigen::MakeRange<SliceLoop>);
const FidelityDeclaration kLoopsFidelity[] = {
    FidelityDeclaration({"slice", "eigen", Fidelity::kOurs,
                         "copies of the longest runs on Eigen's pool; TensorFlow shares the memory "
                         "of a slice of the first axis, copies rows on one thread in two "
                         "dimensions, and otherwise evaluates Eigen's slice",
                         "slice_op.cc"}),
    FidelityDeclaration({"slice", "native", Fidelity::kOurs,
                         "copies on all threads; Caffe's are serial", "layers/slice_layer.cpp"}),
};

}  // namespace

}  // namespace topdnn
