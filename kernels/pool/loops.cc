// Pooling in f32 as vectorised loops over NCHW, for backends whose libraries have none. Threads
// share the planes; vectors run along the output rows.

#include <omp.h>

#include <algorithm>
#include <limits>
#include <type_traits>
#include <vector>

#include "kernels/kernel/fidelity.h"
#include "kernels/kernel/native.h"
#include "kernels/kernel/omp_loops.h"
#include "kernels/kernel/registry.h"
#include "kernels/op/window.h"
#include "kernels/pool/max_loops.h"
#include "kernels/pool/pool.h"

namespace topdnn {

namespace {

// Calls body(stride) with common strides as constants, so that the compiler can use vector loads.
template <typename Body>
void WithStride(std::int64_t stride, Body body) {
  if (stride == 1) return body(std::integral_constant<std::int64_t, 1>{});
  if (stride == 2) return body(std::integral_constant<std::int64_t, 2>{});
  body(stride);
}

class PoolLoops : public LoopsKernel {
 public:
  PoolLoops(const KernelRequest& request, const PoolOp& op)
      : LoopsKernel(request),
        algorithm_(op.algorithm()),
        e_(op.extents()),
        threads_(request.threads) {
    for (std::int64_t s = 0; s < e_.s; ++s) columns_.push_back(ColumnsOf(s));
    for (std::int64_t x = 0; x < ow_; ++x) widths_.push_back(Counted(ColumnWindow(x)));
    for (std::int64_t r = 0; r < e_.r; ++r) {
      for (std::int64_t s = 0; s < e_.s; ++s) tap_offsets_.push_back(r * e_.w + s);
    }
    if (Scales()) ReserveScratch(threads_ * ow_);  // (threads, OW)
  }

  void Run() noexcept override {
    const std::int64_t planes = e_.n * e_.c;
    const std::int64_t image = e_.h * e_.w;
    const std::int64_t outputs = oh_ * ow_;
    auto* workspace = Data<std::int32_t>(Arg::kWorkspace);
#pragma omp parallel for if (planes * image >= kMinParallelElements)
    for (std::int64_t plane = 0; plane < planes; ++plane) {
      std::int32_t* winners = workspace == nullptr ? nullptr : workspace + plane * outputs;
      if (pass() == Pass::kForward) {
        Forward(Data<float>(Arg::kSrc) + plane * image, Data<float>(Arg::kDst) + plane * outputs,
                winners);
      } else {
        Backward(Data<float>(Arg::kDiffDst) + plane * outputs, winners,
                 Data<float>(Arg::kDiffSrc) + plane * image);
      }
    }
  }

 private:
  // Whether the pass needs a row of quotients per thread.
  bool Scales() const { return pass() == Pass::kBackwardData && algorithm_ != PoolAlgorithm::kMax; }

  // The outputs of a row for which tap `s` of the window is inside the image.
  OutputRange ColumnsOf(std::int64_t s) const {
    return OutputsInside(e_.w, ow_, e_.stride_w, s - e_.pad_left);
  }

  AxisWindow RowWindow(std::int64_t y) const {
    return WindowOf(y, e_.h, e_.r, e_.stride_h, e_.pad_top, e_.pad_bottom);
  }
  AxisWindow ColumnWindow(std::int64_t x) const {
    return WindowOf(x, e_.w, e_.s, e_.stride_w, e_.pad_left, e_.pad_right);
  }
  // Number of elements along one axis that an average divides by.
  float Counted(const AxisWindow& window) const {
    return static_cast<float>(
        algorithm_ == PoolAlgorithm::kAverageOfPadding ? window.padded : window.end - window.first);
  }

  // src (H, W), dst and winners (OH, OW).
  void Forward(const float* src, float* dst, std::int32_t* winners) const {
    for (std::int64_t y = 0; y < oh_; ++y) {
      if (algorithm_ != PoolAlgorithm::kMax) {
        AverageRow(src, y, dst + y * ow_);
      } else if (winners != nullptr) {
        MaxRow<true>(src, y, dst + y * ow_, winners + y * ow_);
      } else {
        MaxRow<false>(src, y, dst + y * ow_, nullptr);
      }
    }
  }

  template <bool kWinners>
  void MaxRow(const float* src, std::int64_t y, float* best, std::int32_t* winners) const {
    const AxisWindow rows = RowWindow(y);
    const std::int64_t top = y * e_.stride_h - e_.pad_top;
    std::fill(best, best + ow_, -std::numeric_limits<float>::infinity());
    if constexpr (kWinners) {
      // Starts with the first element inside the image, in case all elements are minus infinity.
      for (std::int64_t x = 0; x < ow_; ++x) {
        const std::int64_t left = x * e_.stride_w - e_.pad_left;
        winners[x] =
            static_cast<std::int32_t>((rows.first - top) * e_.s + std::max<std::int64_t>(0, -left));
      }
    }
    for (std::int64_t h = rows.first; h < rows.end; ++h) {
      for (std::int64_t s = 0; s < e_.s; ++s) {
        const auto tap = static_cast<std::int32_t>((h - top) * e_.s + s);
        const std::int64_t start = h * e_.w + s - e_.pad_left;
        const auto [first, end] = columns_[static_cast<std::size_t>(s)];
        WithStride(e_.stride_w, [&, first = first, end = end](auto stride) {
#pragma omp simd
          for (std::int64_t x = first; x < end; ++x) {
            const float value = src[start + x * stride];
            // A NaN wins against every number, and the first NaN stays.
            const bool wins = !(value <= best[x]) && best[x] == best[x];
            best[x] = wins ? value : best[x];
            if constexpr (kWinners) winners[x] = wins ? tap : winners[x];
          }
        });
      }
    }
  }

  void AverageRow(const float* src, std::int64_t y, float* sums) const {
    const AxisWindow rows = RowWindow(y);
    const float height = Counted(rows);
    if (ow_ == 1) {
      sums[0] = WindowSum(src, rows, ColumnWindow(0)) / (height * widths_[0]);
      return;
    }
    std::fill(sums, sums + ow_, 0.0F);
    for (std::int64_t h = rows.first; h < rows.end; ++h) {
      for (std::int64_t s = 0; s < e_.s; ++s) {
        const std::int64_t start = h * e_.w + s - e_.pad_left;
        const auto [first, end] = columns_[static_cast<std::size_t>(s)];
        WithStride(e_.stride_w, [&, first = first, end = end](auto stride) {
#pragma omp simd
          for (std::int64_t x = first; x < end; ++x) sums[x] += src[start + x * stride];
        });
      }
    }
    const float* widths = widths_.data();
#pragma omp simd
    for (std::int64_t x = 0; x < ow_; ++x) sums[x] /= height * widths[x];
  }

  // For one output per row (a global average) the vectors run along the window instead.
  float WindowSum(const float* src, const AxisWindow& rows, const AxisWindow& columns) const {
    float sum = 0;
    for (std::int64_t h = rows.first; h < rows.end; ++h) {
      const float* row = src + h * e_.w;
#pragma omp simd reduction(+ : sum)
      for (std::int64_t w = columns.first; w < columns.end; ++w) sum += row[w];
    }
    return sum;
  }

  void Backward(const float* diff_dst, const std::int32_t* winners, float* diff_src) const {
    std::fill(diff_src, diff_src + e_.h * e_.w, 0.0F);
    for (std::int64_t y = 0; y < oh_; ++y) {
      if (algorithm_ == PoolAlgorithm::kMax) {
        ScatterMaxRow(diff_dst + y * ow_, winners + y * ow_, y, diff_src);
      } else {
        SpreadAverageRow(diff_dst + y * ow_, y, diff_src);
      }
    }
  }

  void ScatterMaxRow(const float* diff_dst, const std::int32_t* winners, std::int64_t y,
                     float* diff_src) const {
    const std::int64_t start = (y * e_.stride_h - e_.pad_top) * e_.w - e_.pad_left;
    for (std::int64_t x = 0; x < ow_; ++x) {
      const std::int64_t tap = tap_offsets_[static_cast<std::size_t>(winners[x])];
      diff_src[start + x * e_.stride_w + tap] += diff_dst[x];
    }
  }

  void SpreadAverageRow(const float* diff_dst, std::int64_t y, float* diff_src) const {
    float* share = Scratch() + omp_get_thread_num() * ow_;
    const AxisWindow rows = RowWindow(y);
    const float height = Counted(rows);
    const float* widths = widths_.data();
#pragma omp simd
    for (std::int64_t x = 0; x < ow_; ++x) share[x] = diff_dst[x] / (height * widths[x]);
    for (std::int64_t h = rows.first; h < rows.end; ++h) {
      for (std::int64_t s = 0; s < e_.s; ++s) {
        const std::int64_t start = h * e_.w + s - e_.pad_left;
        const auto [first, end] = columns_[static_cast<std::size_t>(s)];
        WithStride(e_.stride_w, [&, first = first, end = end](auto stride) {
        // Outputs of one row write different columns for the same tap.
#pragma omp simd
          for (std::int64_t x = first; x < end; ++x) diff_src[start + x * stride] += share[x];
        });
      }
    }
  }

  const PoolAlgorithm algorithm_;
  const PoolExtents e_;
  const int threads_;
  const std::int64_t oh_ = e_.oh(), ow_ = e_.ow();
  std::vector<OutputRange> columns_;       // by tap S
  std::vector<float> widths_;              // by output column: elements that its windows count
  std::vector<std::int64_t> tap_offsets_;  // (R, S): offset from a window's corner, in elements
};

KernelOrRefusal MakePoolLoops(const KernelRequest& request) {
  if (request.algorithm == kChannelLoops) return MakeMaxLoops(request);
  return MakeLoops<PoolOp, PoolLoops>(request);
}

const KernelRegistration kLoops("pool", kNative, MakePoolLoops);
const FidelityDeclaration kLoopsFidelity({"pool", "native", Fidelity::kOurs,
                                          "loops on all threads; Caffe's are serial",
                                          "layers/pooling_layer.cpp"});

}  // namespace

}  // namespace topdnn
