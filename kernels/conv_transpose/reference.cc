// Transposed convolution by its definition: each element of src, times the kernel, is added to dst.
// The gradients sum over the same triples of an element of src, of weights and of dst. Sums are in
// double.

#include "kernels/reference.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "kernels/conv_transpose/conv_transpose.h"
#include "kernels/registry.h"

namespace topdnn {

namespace {

template <typename T>
class ConvTransposeReference : public ReferenceKernel {
 public:
  ConvTransposeReference(const KernelRequest& request, const ConvTransposeOp& op)
      : ReferenceKernel(request), e_(op.extents()), pass_(request.execution.pass) {
    result_ = pass_ == Pass::kForward        ? Arg::kDst
              : pass_ == Pass::kBackwardData ? Arg::kDiffSrc
                                             : Arg::kDiffWeights;
    elements_ = static_cast<std::size_t>(Find(result_)->desc.shape.elements());
    scratch_bytes_ = elements_ * sizeof(double);
  }

  void Prepare(const std::map<Arg, void*>& memory) override {
    ReferenceKernel::Prepare(memory);
    sums_.resize(elements_);
  }

  void Run() noexcept override {
    std::fill(sums_.begin(), sums_.end(), 0.0);
    const auto& [d, h, w] = axes_;
    std::int64_t src = 0;
    for (std::int64_t plane = 0; plane < e_.n * e_.k; ++plane) {
      for (std::int64_t z = 0; z < d.outputs(); ++z) {
        for (std::int64_t y = 0; y < h.outputs(); ++y) {
          for (std::int64_t x = 0; x < w.outputs(); ++x) AddProducts(plane, {z, y, x}, src++);
        }
      }
    }
    for (std::size_t i = 0; i < elements_; ++i) Data<T>(result_)[i] = static_cast<T>(sums_[i]);
  }

 private:
  using Place = std::array<std::int64_t, kMaxSpatialAxes>;

  // Adds the products of all triples with one element of src, at `place` of plane n * K + k.
  void AddProducts(std::int64_t plane, const Place& place, std::int64_t src) {
    const auto& [d, h, w] = axes_;
    const std::int64_t k = plane % e_.k;
    const std::int64_t channels = e_.c / e_.groups;
    std::int64_t weight = k * channels * d.kernel * h.kernel * w.kernel;
    for (std::int64_t i = 0; i < channels; ++i) {
      const std::int64_t c = k / (e_.k / e_.groups) * channels + i;
      for (std::int64_t t = 0; t < d.kernel; ++t) {
        for (std::int64_t r = 0; r < h.kernel; ++r) {
          for (std::int64_t s = 0; s < w.kernel; ++s, ++weight) {
            const std::int64_t z = d.Start(place[0]) + t * d.dilation;
            const std::int64_t y = h.Start(place[1]) + r * h.dilation;
            const std::int64_t x = w.Start(place[2]) + s * w.dilation;
            if (z < 0 || z >= d.extent || y < 0 || y >= h.extent || x < 0 || x >= w.extent) {
              continue;
            }
            const std::int64_t dst =
                (((plane / e_.k * e_.c + c) * d.extent + z) * h.extent + y) * w.extent + x;
            AddProduct(src, weight, dst);
          }
        }
      }
    }
  }

  void AddProduct(std::int64_t src, std::int64_t weight, std::int64_t dst) {
    const auto value = [&](Arg arg, std::int64_t at) {
      return static_cast<double>(Data<T>(arg)[at]);
    };
    switch (pass_) {
      case Pass::kForward:
        sums_[static_cast<std::size_t>(dst)] +=
            value(Arg::kSrc, src) * value(Arg::kWeights, weight);
        return;
      case Pass::kBackwardData:
        sums_[static_cast<std::size_t>(src)] +=
            value(Arg::kDiffDst, dst) * value(Arg::kWeights, weight);
        return;
      case Pass::kBackwardWeights:
        sums_[static_cast<std::size_t>(weight)] +=
            value(Arg::kSrc, src) * value(Arg::kDiffDst, dst);
        return;
    }
  }

  const ConvNdExtents e_;
  const std::array<SpatialAxis, kMaxSpatialAxes> axes_ = InThree(e_.axes);
  const Pass pass_;
  Arg result_;
  std::size_t elements_ = 0;
  std::vector<double> sums_;
};

const KernelRegistration kReference("conv_transpose", "reference",
                                    MakeReference<ConvTransposeOp, ConvTransposeReference>);

}  // namespace

}  // namespace topdnn
