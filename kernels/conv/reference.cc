// Convolution by its definition: plain loops over row-major tensors, sums in double. All other
// backends are compared with it.

#include "kernels/kernel/reference.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "kernels/conv/conv.h"
#include "kernels/conv/sums.h"
#include "kernels/kernel/registry.h"
#include "kernels/op/element.h"

namespace topdnn {

namespace {

// Applies the epilogue to a sum. This form keeps a NaN.
double AfterEpilogue(const ConvEpilogue& epilogue, double sum, double bias, double before) {
  if (epilogue.bias) sum += bias;
  if (epilogue.sum) sum += before;
  if (const UnaryFunction* const f = epilogue.function) return f->value(sum, f->alpha, f->beta);
  if (epilogue.bound != 0.0F && sum > epilogue.bound) return epilogue.bound;
  return epilogue.relu && sum < 0 ? 0 : sum;
}

// Divides 0 to `count` - 1 into blocks, and calls `compute` with the first number of each and room
// for its sums.
template <typename Compute>
void ForBlocks(std::int64_t count, const Compute& compute) {
  constexpr std::int64_t kBlock = 16;
  std::array<double, kBlock> sums;
  for (std::int64_t first = 0; first < count; first += kBlock) {
    compute(first,
            std::span(sums).first(static_cast<std::size_t>(std::min(kBlock, count - first))));
  }
}

// Joins the rows of an image into one row if each output reads only the pixel at its own place. The
// order of the terms stays the same, and the sums are faster: short rows take much longer.
ConvExtents InOneRow(ConvExtents e) {
  const bool one_pixel = e.r == 1 && e.s == 1 && e.stride_h == 1 && e.stride_w == 1 &&
                         e.oh() == e.h && e.ow() == e.w && e.pad_top == 0 && e.pad_left == 0;
  if (one_pixel) e.w *= std::exchange(e.h, 1);
  return e;
}

template <typename T>
class ConvReference : public ReferenceKernel {
 public:
  ConvReference(const KernelRequest& request, const ConvOp& op)
      : ReferenceKernel(request), e_(InOneRow(op.extents())), epilogue_(op.epilogue()) {}

  void Prepare(const std::map<Arg, void*>& memory) override {
    ReferenceKernel::Prepare(memory);
    sums_ = {e_, Data<T>(Arg::kSrc), Data<T>(Arg::kWeights), Data<T>(Arg::kDiffDst)};
  }

  void Run() noexcept override {
    switch (pass()) {
      case Pass::kForward:
        return Forward();
      case Pass::kBackwardData:
        return BackwardData();
      case Pass::kBackwardWeights:
        return BackwardWeights();
    }
  }

 private:
  void Forward() {
    const T* bias = Data<T>(Arg::kBias);
    T* dst = Data<T>(Arg::kDst);
#pragma omp parallel for collapse(2)
    for (std::int64_t n = 0; n < e_.n; ++n) {
      for (std::int64_t k = 0; k < e_.k; ++k) {
        for (std::int64_t y = 0; y < sums_.oh; ++y) {
          ForBlocks(sums_.ow, [&](std::int64_t x, std::span<double> block) {
            sums_.Forward(n, k, y, x, block);
            T* out = &dst[sums_.AtDst(n, k, y, x)];
            for (const double sum : block) {
              *out = static_cast<T>(AfterEpilogue(epilogue_, sum,
                                                  epilogue_.bias ? static_cast<double>(bias[k]) : 0,
                                                  epilogue_.sum ? static_cast<double>(*out) : 0));
              ++out;
            }
          });
        }
      }
    }
  }

  void BackwardData() {
    T* diff_src = Data<T>(Arg::kDiffSrc);
#pragma omp parallel for collapse(2)
    for (std::int64_t n = 0; n < e_.n; ++n) {
      for (std::int64_t c = 0; c < e_.c; ++c) {
        for (std::int64_t h = 0; h < e_.h; ++h) {
          ForBlocks(e_.w, [&](std::int64_t w, std::span<double> block) {
            sums_.BackwardData(n, c, h, w, block);
            std::ranges::transform(block, &diff_src[sums_.AtSrc(n, c, h, w)],
                                   [](double sum) { return static_cast<T>(sum); });
          });
        }
      }
    }
  }

  void BackwardWeights() {
    T* diff_weights = Data<T>(Arg::kDiffWeights);
    T* diff_bias = Data<T>(Arg::kDiffBias);
    const std::int64_t channels = e_.c / e_.groups;
#pragma omp parallel for
    for (std::int64_t k = 0; k < e_.k; ++k) {
      for (std::int64_t r = 0; r < e_.r; ++r) {
        for (std::int64_t s = 0; s < e_.s; ++s) {
          ForBlocks(channels, [&](std::int64_t c, std::span<double> block) {
            sums_.BackwardWeights(k, c, r, s, block);
            for (const double sum : block) {
              diff_weights[sums_.AtWeights(k, c++, r, s)] = static_cast<T>(sum);
            }
          });
        }
      }
    }
    if (!epilogue_.bias) return;
#pragma omp parallel for
    for (std::int64_t k = 0; k < e_.k; ++k) diff_bias[k] = static_cast<T>(sums_.BackwardBias(k));
  }

  const ConvExtents e_;
  const ConvEpilogue epilogue_;
  ConvSums<T> sums_{e_};
};

double ConvElement(const Op& any, Pass pass, const Values& operands, Arg result,
                   std::int64_t index) {
  const auto& op = dynamic_cast<const ConvOp&>(any);
  const ConvExtents& e = op.extents();
  const auto data = [&](Arg arg) {
    const auto found = operands.find(arg);
    return found == operands.end() ? nullptr : found->second.data();
  };
  const ConvSums<double> sums{e, data(Arg::kSrc), data(Arg::kWeights), data(Arg::kDiffDst)};
  if (result == Arg::kDiffBias) return sums.BackwardBias(index);
  // The element's indices in a tensor of four dimensions; the extents of the last three are given.
  const auto at = [index](std::int64_t b, std::int64_t c, std::int64_t d, auto&& compute) {
    double sum = 0;
    compute(index / (b * c * d), index / (c * d) % b, index / d % c, index % d, std::span(&sum, 1));
    return sum;
  };
  switch (pass) {
    case Pass::kBackwardData:
      return at(e.c, e.h, e.w, [&](auto... i) { return sums.BackwardData(i...); });
    case Pass::kBackwardWeights:
      return at(e.c / e.groups, e.r, e.s, [&](auto... i) { return sums.BackwardWeights(i...); });
    case Pass::kForward:
      break;
  }
  const double* bias = data(Arg::kBias);
  const double* before = data(Arg::kDst);
  const double sum = at(e.k, sums.oh, sums.ow, [&](auto... i) { return sums.Forward(i...); });
  return AfterEpilogue(op.epilogue(), sum,
                       bias == nullptr ? 0 : bias[index / (sums.oh * sums.ow) % e.k],
                       before == nullptr ? 0 : before[index]);
}

const KernelRegistration kConvReference("conv", "reference", MakeReference<ConvOp, ConvReference>);
const ElementRegistration kConvElement("conv", ConvElement);

}  // namespace

}  // namespace topdnn
