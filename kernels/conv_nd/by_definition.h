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
#include "kernels/op/element.h"

namespace topdnn {

// The tensor that the windows are over (N, C, ...), the weights, and the tensor with an element for
// each window (N, K, ...). A pass computes one of them from the others.
struct ConvTriple {
  Arg image, weights, outputs;
  Arg result;
};

using Place = std::array<std::int64_t, kMaxSpatialAxes>;

struct PlaceRange {
  std::int64_t first = 0, end = 1;  // without `end`
};
using PlaceBox = std::array<PlaceRange, kMaxSpatialAxes>;

// Some products of a convolution, by image, output k, channel of its group, window and tap.
struct ConvProducts {
  PlaceRange n, k, i;
  PlaceBox windows, taps;

  static ConvProducts All(const ConvNdExtents& e) {
    ConvProducts all{{0, e.n}, {0, e.k}, {0, e.c / e.groups}, {}, {}};
    const auto axes = InThree(e.axes);
    for (std::size_t a = 0; a < kMaxSpatialAxes; ++a) {
      all.windows[a].end = axes[a].outputs();
      all.taps[a].end = axes[a].kernel;
    }
    return all;
  }

  // Those that are added to one element of the result, and possibly some others.
  static ConvProducts Of(const ConvNdExtents& e, const ConvTriple& triple, std::int64_t index) {
    ConvProducts some = All(e);
    const auto next = [&index](std::int64_t extent) {
      const std::int64_t at = index % extent;
      index /= extent;
      return at;
    };
    const auto next_only = [&next](std::int64_t extent) {
      const std::int64_t at = next(extent);
      return PlaceRange{at, at + 1};
    };
    const auto axes = InThree(e.axes);
    for (std::size_t a = kMaxSpatialAxes; a-- > 0;) {
      const SpatialAxis& axis = axes[a];
      if (triple.result == triple.image) {  // the windows that contain the element
        const std::int64_t at = next(axis.extent) + axis.pad_before;
        some.windows[a] = {std::max<std::int64_t>(0, (at - axis.reach()) / axis.stride),
                           std::min(axis.outputs(), at / axis.stride + 1)};
      } else {
        const bool is_tap = triple.result == triple.weights;
        (is_tap ? some.taps : some.windows)[a] = next_only(is_tap ? axis.kernel : axis.outputs());
      }
    }
    const std::int64_t channels = e.c / e.groups, outputs = e.k / e.groups;
    if (triple.result != triple.outputs) some.i = next_only(channels);
    if (triple.result == triple.image) {
      const std::int64_t group = next(e.groups);
      some.k = {group * outputs, (group + 1) * outputs};
    } else {
      some.k = next_only(e.k);
    }
    if (triple.result != triple.weights) some.n = next_only(e.n);
    return some;
  }
};

template <typename Visit>
void ForPlaces(const PlaceBox& box, const Visit& visit) {
  for (std::int64_t z = box[0].first; z < box[0].end; ++z) {
    for (std::int64_t y = box[1].first; y < box[1].end; ++y) {
      for (std::int64_t x = box[2].first; x < box[2].end; ++x) visit(Place{z, y, x});
    }
  }
}

// Calls add(place, product) for each product: the place in the result, and what is added to it.
template <typename T, typename Add>
void ForProducts(const ConvNdExtents& e, const ConvTriple& triple, const ConvProducts& some,
                 const T* image, const T* weights, const T* outputs, const Add& add) {
  const auto axes = InThree(e.axes);
  const std::int64_t channels = e.c / e.groups;
  for (std::int64_t n = some.n.first; n < some.n.end; ++n) {
    for (std::int64_t k = some.k.first; k < some.k.end; ++k) {
      for (std::int64_t i = some.i.first; i < some.i.end; ++i) {
        const std::int64_t c = k / (e.k / e.groups) * channels + i;
        ForPlaces(some.windows, [&](const Place& window) {
          ForPlaces(some.taps, [&](const Place& tap) {
            std::int64_t source = n * e.c + c, kernel = k * channels + i, output = n * e.k + k;
            for (std::size_t a = 0; a < kMaxSpatialAxes; ++a) {
              const std::int64_t at = axes[a].Start(window[a]) + tap[a] * axes[a].dilation;
              if (at < 0 || at >= axes[a].extent) return;
              source = source * axes[a].extent + at;
              kernel = kernel * axes[a].kernel + tap[a];
              output = output * axes[a].outputs() + window[a];
            }
            const auto product = [](T a, T b) {
              return static_cast<double>(a) * static_cast<double>(b);
            };
            if (triple.result == triple.image) {
              add(source, product(weights[kernel], outputs[output]));
            } else if (triple.result == triple.weights) {
              add(kernel, product(image[source], outputs[output]));
            } else {
              add(output, product(image[source], weights[kernel]));
            }
          });
        });
      }
    }
  }
}

// One element of the result, with its products in the same order as in the kernel.
inline double ConvElementByDefinition(const ConvNdExtents& e, const ConvTriple& triple,
                                      const Values& inputs, std::int64_t index) {
  const auto data = [&inputs](Arg arg) {
    const auto found = inputs.find(arg);
    return found == inputs.end() ? nullptr : found->second.data();
  };
  double sum = 0;
  ForProducts(e, triple, ConvProducts::Of(e, triple, index), data(triple.image),
              data(triple.weights), data(triple.outputs), [&](std::int64_t place, double product) {
                if (place == index) sum += product;
              });
  return sum;
}

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
    ForProducts(e_, triple_, ConvProducts::All(e_), Data<T>(triple_.image),
                Data<T>(triple_.weights), Data<T>(triple_.outputs),
                [&](std::int64_t place, double product) {
                  sums_[static_cast<std::size_t>(place)] += product;
                });
    T* result = Data<T>(triple_.result);
    for (std::size_t i = 0; i < elements_; ++i) result[i] = static_cast<T>(sums_[i]);
  }

 private:
  const ConvNdExtents e_;
  const ConvTriple triple_;
  const std::size_t elements_;  // of the result
  std::vector<double> sums_;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_CONV_ND_BY_DEFINITION_H_
