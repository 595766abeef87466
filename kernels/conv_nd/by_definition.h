// Convolutions over one to three spatial dimensions by their definition: every product of an
// element of the image, a weight and an element of the outputs, one after the other, with sums in
// double. A transposed convolution has the same triples, with src and dst exchanged.

#ifndef TOPDNN_KERNELS_CONV_ND_BY_DEFINITION_H_
#define TOPDNN_KERNELS_CONV_ND_BY_DEFINITION_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "kernels/conv_nd/conv_nd.h"
#include "kernels/kernel/reference.h"

namespace topdnn {

// The tensor that the windows are over (N, C, ...), the weights, and the tensor with an element for
// each window (N, K, ...). A pass computes one of them from the others.
struct ConvTriple {
  Arg image, weights, outputs;
  Arg result;
};

template <typename T>
class ConvByDefinition : public ReferenceKernel {
 public:
  ConvByDefinition(const KernelRequest& request, const ConvNdExtents& extents,
                   const ConvTriple& triple)
      : ReferenceKernel(request),
        e_(extents),
        triple_(triple),
        elements_(static_cast<std::size_t>(Find(triple.result)->desc.shape.elements())) {
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
    T* result = Data<T>(triple_.result);
    for (std::size_t i = 0; i < elements_; ++i) result[i] = static_cast<T>(sums_[i]);
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

  // Adds the products of one plane of the image, one kernel, and one plane of the outputs.
  void AddPlanes(std::int64_t image_plane, std::int64_t kernel, std::int64_t output_plane) {
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
        AddProduct(image_plane * count(image) + Flat(source, image),
                   kernel * count(window) + Flat(tap, window),
                   output_plane * count(outputs) + Flat(output, outputs));
      });
    });
  }

  void AddProduct(std::int64_t image, std::int64_t weight, std::int64_t output) {
    const auto value = [&](Arg arg, std::int64_t at) {
      return static_cast<double>(Data<T>(arg)[at]);
    };
    const auto& [image_arg, weights_arg, outputs_arg, result] = triple_;
    if (result == image_arg) {
      sums_[static_cast<std::size_t>(image)] +=
          value(weights_arg, weight) * value(outputs_arg, output);
    } else if (result == weights_arg) {
      sums_[static_cast<std::size_t>(weight)] +=
          value(image_arg, image) * value(outputs_arg, output);
    } else {
      sums_[static_cast<std::size_t>(output)] +=
          value(image_arg, image) * value(weights_arg, weight);
    }
  }

  const ConvNdExtents e_;
  const std::array<SpatialAxis, kMaxSpatialAxes> axes_ = InThree(e_.axes);
  const ConvTriple triple_;
  const std::size_t elements_;  // of the result
  std::vector<double> sums_;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_CONV_ND_BY_DEFINITION_H_
