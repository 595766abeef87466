// Pooling by its definition: plain loops over row-major tensors, sums in double.

#include "kernels/kernel/reference.h"

#include <cmath>

#include "kernels/kernel/registry.h"
#include "kernels/op/window.h"
#include "kernels/pool/pool.h"

namespace topdnn {

namespace {

template <typename T>
class PoolReference : public ReferenceKernel {
 public:
  PoolReference(const KernelRequest& request, const PoolOp& op)
      : ReferenceKernel(request), algorithm_(op.algorithm()), e_(op.extents()) {}

  void Run() noexcept override {
    const std::int64_t planes = e_.n * e_.c;
    const std::int64_t image = e_.h * e_.w;
    const std::int64_t outputs = oh_ * ow_;
    auto* workspace = Data<std::int32_t>(Arg::kWorkspace);
#pragma omp parallel for
    for (std::int64_t plane = 0; plane < planes; ++plane) {
      std::int32_t* winners = workspace == nullptr ? nullptr : workspace + plane * outputs;
      if (pass() == Pass::kForward) {
        Forward(Data<T>(Arg::kSrc) + plane * image, Data<T>(Arg::kDst) + plane * outputs, winners);
      } else {
        const T* src = Data<T>(Arg::kSrc);
        Backward(src == nullptr ? nullptr : src + plane * image,
                 Data<T>(Arg::kDiffDst) + plane * outputs, winners,
                 Data<T>(Arg::kDiffSrc) + plane * image);
      }
    }
  }

 private:
  // One output's window: rows and columns of the image.
  struct Window {
    AxisWindow h, w;
    std::int64_t top, left;  // start of the window, possibly in the padding
  };

  Window WindowAt(std::int64_t y, std::int64_t x) const {
    return {WindowOf(y, e_.h, e_.r, e_.stride_h, e_.pad_top, e_.pad_bottom),
            WindowOf(x, e_.w, e_.s, e_.stride_w, e_.pad_left, e_.pad_right),
            y * e_.stride_h - e_.pad_top, x * e_.stride_w - e_.pad_left};
  }

  double Divisor(const Window& window) const {
    const std::int64_t elements =
        algorithm_ == PoolAlgorithm::kAverageOfPadding
            ? window.h.padded * window.w.padded
            : (window.h.end - window.h.first) * (window.w.end - window.w.first);
    return static_cast<double>(elements);
  }

  // src (H, W), dst and winners (OH, OW).
  void Forward(const T* src, T* dst, std::int32_t* winners) const {
    for (std::int64_t y = 0; y < oh_; ++y) {
      for (std::int64_t x = 0; x < ow_; ++x) {
        const Window window = WindowAt(y, x);
        const std::int64_t o = y * ow_ + x;
        if (algorithm_ != PoolAlgorithm::kMax) {
          dst[o] = static_cast<T>(Sum(src, window) / Divisor(window));
          continue;
        }
        const auto [row, column] = Winner(src, window);
        dst[o] = src[row * e_.w + column];
        if (winners != nullptr) {
          winners[o] = static_cast<std::int32_t>((row - window.top) * e_.s + column - window.left);
        }
      }
    }
  }

  double Sum(const T* src, const Window& window) const {
    double sum = 0;
    for (std::int64_t h = window.h.first; h < window.h.end; ++h) {
      for (std::int64_t w = window.w.first; w < window.w.end; ++w) {
        sum += static_cast<double>(src[h * e_.w + w]);
      }
    }
    return sum;
  }

  // Row and column of the first largest element, or of the first NaN.
  std::pair<std::int64_t, std::int64_t> Winner(const T* src, const Window& window) const {
    std::pair<std::int64_t, std::int64_t> at = {window.h.first, window.w.first};
    T best = src[at.first * e_.w + at.second];
    for (std::int64_t h = window.h.first; h < window.h.end; ++h) {
      for (std::int64_t w = window.w.first; w < window.w.end; ++w) {
        const T value = src[h * e_.w + w];
        if (value > best || (std::isnan(value) && !std::isnan(best))) {
          best = value;
          at = {h, w};
        }
      }
    }
    return at;
  }

  // Each element gathers its sum, so that it is added up in double and written once. Without
  // `winners`, the gradient of a maximum finds the winners again in src.
  void Backward(const T* src, const T* diff_dst, const std::int32_t* winners, T* diff_src) const {
    for (std::int64_t h = 0; h < e_.h; ++h) {
      for (std::int64_t w = 0; w < e_.w; ++w) {
        diff_src[h * e_.w + w] = static_cast<T>(GradientOf(h, w, src, diff_dst, winners));
      }
    }
  }

  double GradientOf(std::int64_t h, std::int64_t w, const T* src, const T* diff_dst,
                    const std::int32_t* winners) const {
    double sum = 0;
    for (std::int64_t y = FirstCovering(h, e_.pad_top, e_.r, e_.stride_h);
         y < oh_ && y * e_.stride_h - e_.pad_top <= h; ++y) {
      for (std::int64_t x = FirstCovering(w, e_.pad_left, e_.s, e_.stride_w);
           x < ow_ && x * e_.stride_w - e_.pad_left <= w; ++x) {
        const Window window = WindowAt(y, x);
        const std::int64_t o = y * ow_ + x;
        if (algorithm_ != PoolAlgorithm::kMax) {
          sum += static_cast<double>(diff_dst[o]) / Divisor(window);
        } else if (winners == nullptr ? Winner(src, window) == std::pair(h, w)
                                      : winners[o] == (h - window.top) * e_.s + w - window.left) {
          sum += static_cast<double>(diff_dst[o]);
        }
      }
    }
    return sum;
  }

  // The first window that covers position `i` of an axis.
  static std::int64_t FirstCovering(std::int64_t i, std::int64_t pad, std::int64_t kernel,
                                    std::int64_t stride) {
    const std::int64_t least_start = i + pad - kernel + 1;  // windows start at o * stride
    return least_start <= 0 ? 0 : (least_start + stride - 1) / stride;
  }

  const PoolAlgorithm algorithm_;
  const PoolExtents e_;
  const std::int64_t oh_ = e_.oh(), ow_ = e_.ow();
};

const KernelRegistration kPoolReference("pool", "reference", MakeReference<PoolOp, PoolReference>);

}  // namespace

}  // namespace topdnn
