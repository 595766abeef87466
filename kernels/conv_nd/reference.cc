// Convolution over one to three spatial dimensions by its definition: every product of an element
// of src, a weight and an element of dst, one after the other, with sums in double.

#include "kernels/reference.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "kernels/conv_nd/conv_nd.h"
#include "kernels/registry.h"

namespace topdnn {

namespace {

template <typename T>
class ConvNdReference : public ReferenceKernel {
 public:
  ConvNdReference(const KernelRequest& request, const ConvNdOp& op)
      : ReferenceKernel(request), e_(op.extents()), pass_(request.execution.pass) {
    const Arg result = pass_ == Pass::kForward        ? Arg::kDst
                       : pass_ == Pass::kBackwardData ? Arg::kDiffSrc
                                                      : Arg::kDiffWeights;
    result_ = result;
    elements_ = static_cast<std::size_t>(Find(result)->desc.shape.elements());
    scratch_bytes_ = elements_ * sizeof(double);
  }

  void Prepare(const std::map<Arg, void*>& memory) override {
    ReferenceKernel::Prepare(memory);
    sums_.resize(elements_);
  }

  void Run() noexcept override {
    std::fill(sums_.begin(), sums_.end(), 0.0);
    const std::int64_t channels = e_.c / e_.groups;
    for (std::int64_t n = 0; n < e_.n; ++n) {
      for (std::int64_t k = 0; k < e_.k; ++k) {
        for (std::int64_t i = 0; i < channels; ++i) {
          const std::int64_t c = k / (e_.k / e_.groups) * channels + i;
          AddPlanes(n * e_.c + c, k * channels + i, n * e_.k + k);
        }
      }
    }
    for (std::size_t i = 0; i < elements_; ++i) Data<T>(result_)[i] = static_cast<T>(sums_[i]);
  }

 private:
  using Place = std::array<std::int64_t, kMaxSpatialAxes>;

  static std::int64_t Flat(const Place& place, const Place& extents) {
    return (place[0] * extents[1] + place[1]) * extents[2] + place[2];
  }

  template <typename Visit>
  static void ForPlaces(const Place& extents, const Visit& visit) {
    for (std::int64_t z = 0; z < extents[0]; ++z) {
      for (std::int64_t y = 0; y < extents[1]; ++y) {
        for (std::int64_t x = 0; x < extents[2]; ++x) visit(Place{z, y, x});
      }
    }
  }

  // Adds the products of one plane of src, one kernel, and one plane of dst.
  void AddPlanes(std::int64_t src_plane, std::int64_t kernel, std::int64_t dst_plane) {
    Place image, window, outputs;
    for (std::size_t a = 0; a < kMaxSpatialAxes; ++a) {
      image[a] = axes_[a].extent;
      window[a] = axes_[a].kernel;
      outputs[a] = axes_[a].outputs();
    }
    const auto count = [](const Place& extents) { return extents[0] * extents[1] * extents[2]; };
    ForPlaces(outputs, [&](const Place& output) {
      ForPlaces(window, [&](const Place& tap) {
        Place source;
        for (std::size_t a = 0; a < kMaxSpatialAxes; ++a) {
          source[a] = axes_[a].Start(output[a]) + tap[a] * axes_[a].dilation;
          if (source[a] < 0 || source[a] >= image[a]) return;
        }
        AddProduct(src_plane * count(image) + Flat(source, image),
                   kernel * count(window) + Flat(tap, window),
                   dst_plane * count(outputs) + Flat(output, outputs));
      });
    });
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

const KernelRegistration kReference("conv_nd", "reference",
                                    MakeReference<ConvNdOp, ConvNdReference>);

}  // namespace

}  // namespace topdnn
