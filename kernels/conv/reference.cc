// Convolution as its definition: plain loops over row-major tensors, sums in double. What every
// other backend is held to.

#include "kernels/reference.h"

#include "kernels/conv/conv.h"
#include "kernels/registry.h"

namespace topdnn {

namespace {

// Where a tap lands in the image: input row or column of output `o` and tap `t`.
std::int64_t InputAt(std::int64_t o, std::int64_t t, std::int64_t stride, std::int64_t pad,
                     std::int64_t dilation) {
  return o * stride - pad + t * dilation;
}

// Positions in row-major tensors.
struct Index {
  explicit Index(const ConvExtents& extents) : e(extents), oh(e.oh()), ow(e.ow()) {}

  const ConvExtents& e;
  const std::int64_t oh, ow;

  std::int64_t Src(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) const {
    return ((n * e.c + c) * e.h + h) * e.w + w;
  }
  std::int64_t Weights(std::int64_t k, std::int64_t c, std::int64_t r, std::int64_t s) const {
    return ((k * (e.c / e.groups) + c) * e.r + r) * e.s + s;
  }
  std::int64_t Dst(std::int64_t n, std::int64_t k, std::int64_t h, std::int64_t w) const {
    return ((n * e.k + k) * oh + h) * ow + w;
  }
};

template <typename T>
class ConvReference : public ReferenceKernel {
 public:
  ConvReference(const KernelRequest& request, const ConvOp& op)
      : ReferenceKernel(request),
        e_(op.extents()),
        epilogue_(op.epilogue()),
        pass_(request.execution.pass) {}

  void Run() noexcept override {
    switch (pass_) {
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
    const T* bias = epilogue_.bias ? Data<T>(Arg::kBias) : nullptr;
    T* dst = Data<T>(Arg::kDst);
#pragma omp parallel for collapse(2)
    for (std::int64_t n = 0; n < e_.n; ++n) {
      for (std::int64_t k = 0; k < e_.k; ++k) {
        for (std::int64_t y = 0; y < index_.oh; ++y) {
          for (std::int64_t x = 0; x < index_.ow; ++x) {
            T& out = dst[index_.Dst(n, k, y, x)];
            double sum = ForwardSum(n, k, y, x);
            if (bias != nullptr) sum += static_cast<double>(bias[k]);
            if (epilogue_.sum) sum += static_cast<double>(out);
            // Written so that a NaN passes.
            if (epilogue_.relu && sum < 0) sum = 0;
            out = static_cast<T>(sum);
          }
        }
      }
    }
  }

  double ForwardSum(std::int64_t n, std::int64_t k, std::int64_t y, std::int64_t x) const {
    const T* src = Data<T>(Arg::kSrc);
    const T* weights = Data<T>(Arg::kWeights);
    const std::int64_t channels = e_.c / e_.groups;
    const std::int64_t first = k / (e_.k / e_.groups) * channels;
    double sum = 0;
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t r = 0; r < e_.r; ++r) {
        const std::int64_t h = InputAt(y, r, e_.stride_h, e_.pad_top, e_.dilation_h);
        if (h < 0 || h >= e_.h) continue;
        for (std::int64_t s = 0; s < e_.s; ++s) {
          const std::int64_t w = InputAt(x, s, e_.stride_w, e_.pad_left, e_.dilation_w);
          if (w < 0 || w >= e_.w) continue;
          sum += static_cast<double>(src[index_.Src(n, first + c, h, w)]) *
                 static_cast<double>(weights[index_.Weights(k, c, r, s)]);
        }
      }
    }
    return sum;
  }

  void BackwardData() {
    T* diff_src = Data<T>(Arg::kDiffSrc);
#pragma omp parallel for collapse(2)
    for (std::int64_t n = 0; n < e_.n; ++n) {
      for (std::int64_t c = 0; c < e_.c; ++c) {
        for (std::int64_t h = 0; h < e_.h; ++h) {
          for (std::int64_t w = 0; w < e_.w; ++w) {
            diff_src[index_.Src(n, c, h, w)] = static_cast<T>(BackwardDataSum(n, c, h, w));
          }
        }
      }
    }
  }

  // Sums over the outputs that input (n, c, h, w) contributes to.
  double BackwardDataSum(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) const {
    const T* diff_dst = Data<T>(Arg::kDiffDst);
    const T* weights = Data<T>(Arg::kWeights);
    const std::int64_t channels = e_.c / e_.groups;
    const std::int64_t kernels = e_.k / e_.groups;
    const std::int64_t group = c / channels;
    double sum = 0;
    for (std::int64_t r = 0; r < e_.r; ++r) {
      const std::int64_t y = h + e_.pad_top - r * e_.dilation_h;
      if (y < 0 || y % e_.stride_h != 0 || y / e_.stride_h >= index_.oh) continue;
      for (std::int64_t s = 0; s < e_.s; ++s) {
        const std::int64_t x = w + e_.pad_left - s * e_.dilation_w;
        if (x < 0 || x % e_.stride_w != 0 || x / e_.stride_w >= index_.ow) continue;
        for (std::int64_t k = group * kernels; k < (group + 1) * kernels; ++k) {
          sum += static_cast<double>(diff_dst[index_.Dst(n, k, y / e_.stride_h, x / e_.stride_w)]) *
                 static_cast<double>(weights[index_.Weights(k, c % channels, r, s)]);
        }
      }
    }
    return sum;
  }

  void BackwardWeights() {
    T* diff_weights = Data<T>(Arg::kDiffWeights);
    const std::int64_t channels = e_.c / e_.groups;
#pragma omp parallel for collapse(2)
    for (std::int64_t k = 0; k < e_.k; ++k) {
      for (std::int64_t c = 0; c < channels; ++c) {
        for (std::int64_t r = 0; r < e_.r; ++r) {
          for (std::int64_t s = 0; s < e_.s; ++s) {
            diff_weights[index_.Weights(k, c, r, s)] =
                static_cast<T>(BackwardWeightsSum(k, c, r, s));
          }
        }
      }
    }
    if (epilogue_.bias) BackwardBias();
  }

  double BackwardWeightsSum(std::int64_t k, std::int64_t c, std::int64_t r, std::int64_t s) const {
    const T* src = Data<T>(Arg::kSrc);
    const T* diff_dst = Data<T>(Arg::kDiffDst);
    const std::int64_t first = k / (e_.k / e_.groups) * (e_.c / e_.groups);
    double sum = 0;
    for (std::int64_t n = 0; n < e_.n; ++n) {
      for (std::int64_t y = 0; y < index_.oh; ++y) {
        const std::int64_t h = InputAt(y, r, e_.stride_h, e_.pad_top, e_.dilation_h);
        if (h < 0 || h >= e_.h) continue;
        for (std::int64_t x = 0; x < index_.ow; ++x) {
          const std::int64_t w = InputAt(x, s, e_.stride_w, e_.pad_left, e_.dilation_w);
          if (w < 0 || w >= e_.w) continue;
          sum += static_cast<double>(src[index_.Src(n, first + c, h, w)]) *
                 static_cast<double>(diff_dst[index_.Dst(n, k, y, x)]);
        }
      }
    }
    return sum;
  }

  void BackwardBias() {
    const T* diff_dst = Data<T>(Arg::kDiffDst);
    T* diff_bias = Data<T>(Arg::kDiffBias);
    const std::int64_t image = index_.oh * index_.ow;
#pragma omp parallel for
    for (std::int64_t k = 0; k < e_.k; ++k) {
      double sum = 0;
      for (std::int64_t n = 0; n < e_.n; ++n) {
        const T* plane = &diff_dst[index_.Dst(n, k, 0, 0)];
        for (std::int64_t i = 0; i < image; ++i) sum += static_cast<double>(plane[i]);
      }
      diff_bias[k] = static_cast<T>(sum);
    }
  }

  const ConvExtents e_;
  const ConvEpilogue epilogue_;
  const Pass pass_;
  const Index index_{e_};
};

KernelOrRefusal MakeConv(const KernelRequest& request) {
  return MakeReference<ConvOp, ConvReference>(request);
}

const KernelRegistration kRegistration("conv", "reference", MakeConv);

}  // namespace

}  // namespace topdnn
