// Pooling by columns of channels (NHWC). Max pooling is as in TensorFlow's CPU kernels
// (pooling_ops_common.h, maxpooling_op.cc), without a workspace. In the variant eigen-rows it is
// ours, and the workspace holds the winners as defined in pool.h, (N, OH, OW, C). Averages are
// ours.

#include <vector>

#include "kernels/eigen/kernel.h"
#include "kernels/kernel/fidelity.h"
#include "kernels/op/window.h"
#include "kernels/pool/pool.h"

namespace topdnn {

namespace {

// One axis: the elements that each window covers, the number by which its average divides, and for
// each element the outputs whose windows cover it.
struct Axis {
  Axis(std::int64_t input, std::int64_t outputs, std::int64_t kernel, std::int64_t stride,
       std::int64_t pad_before, std::int64_t pad_after, bool counts_padding)
      : covering(static_cast<std::size_t>(input), {0, 0}) {
    for (std::int64_t o = 0; o < outputs; ++o) {
      const AxisWindow window = WindowOf(o, input, kernel, stride, pad_before, pad_after);
      windows.push_back({window.first, window.end});
      lengths.push_back(counts_padding ? window.padded : window.end - window.first);
      for (std::int64_t i = window.first; i < window.end; ++i) {
        eigen::Range& range = covering[static_cast<std::size_t>(i)];
        if (range.end == 0) range.first = o;
        range.end = o + 1;
      }
    }
  }

  std::vector<eigen::Range> windows;   // per output
  std::vector<std::int64_t> lengths;   // per output
  std::vector<eigen::Range> covering;  // per element
};

class PoolEigen : public eigen::EigenKernel {
 public:
  PoolEigen(const KernelRequest& request, const eigen::Functions& functions, const PoolOp& op)
      : EigenKernel(request, functions, SharesRows(request, op) ? "rows" : "columns"),
        max_(op.algorithm() == PoolAlgorithm::kMax),
        by_rows_(SharesRows(request, op)),
        rows_(RowsOf(op)),
        cols_(ColsOf(op)) {
    for (const std::int64_t height : rows_.lengths) {
      for (const std::int64_t width : cols_.lengths) {
        divisors_.push_back(static_cast<float>(height * width));
      }
    }
    const PoolExtents& e = op.extents();
    pooling_ = {.n = e.n,
                .c = e.c,
                .h = e.h,
                .w = e.w,
                .oh = e.oh(),
                .ow = e.ow(),
                .r = e.r,
                .s = e.s,
                .stride_h = e.stride_h,
                .stride_w = e.stride_w,
                .pad_top = e.pad_top,
                .pad_left = e.pad_left,
                .rows = rows_.windows.data(),
                .cols = cols_.windows.data(),
                .row_outs = rows_.covering.data(),
                .col_outs = cols_.covering.data(),
                .divisors = divisors_.data()};
    // Per result, the place of the maximum (64 bits) and then the maximum.
    if (!forward() && !by_rows_) ReserveRunScratch(3 * Results());
  }

 private:
  static bool SharesRows(const KernelRequest& request, const PoolOp& op) {
    return request.algorithm == eigen::kRows || op.algorithm() != PoolAlgorithm::kMax;
  }

  std::int64_t Results() const { return pooling_.n * pooling_.oh * pooling_.ow * pooling_.c; }

  static Axis RowsOf(const PoolOp& op) {
    const PoolExtents& e = op.extents();
    return {e.h,
            e.oh(),
            e.r,
            e.stride_h,
            e.pad_top,
            e.pad_bottom,
            op.algorithm() == PoolAlgorithm::kAverageOfPadding};
  }
  static Axis ColsOf(const PoolOp& op) {
    const PoolExtents& e = op.extents();
    return {e.w,
            e.ow(),
            e.s,
            e.stride_w,
            e.pad_left,
            e.pad_right,
            op.algorithm() == PoolAlgorithm::kAverageOfPadding};
  }

  void Compute() override { forward() ? Forward() : Backward(); }

  void Forward() {
    const float* src = Data(Arg::kSrc);
    float* dst = Data(Arg::kDst);
    if (!max_) return functions().average_pool(pool(), pooling_, src, dst);
    if (!by_rows_) return functions().max_pool(pool(), pooling_, src, dst);
    functions().max_pool_rows(pool(), pooling_, src, dst, Data<std::int32_t>(Arg::kWorkspace));
  }

  void Backward() {
    const float* diff_dst = Data(Arg::kDiffDst);
    float* diff_src = Data(Arg::kDiffSrc);
    if (!max_) return functions().average_pool_backward(pool(), pooling_, diff_dst, diff_src);
    if (by_rows_) {
      return functions().max_pool_rows_backward(pool(), pooling_, diff_dst,
                                                Data<std::int32_t>(Arg::kWorkspace), diff_src);
    }
    auto* places = reinterpret_cast<std::int64_t*>(Scratch());
    functions().max_pool_backward(pool(), pooling_, Data(Arg::kSrc), diff_dst,
                                  Scratch() + 2 * Results(), places, diff_src);
  }

  const bool max_, by_rows_;
  const Axis rows_, cols_;
  std::vector<float> divisors_;  // (OH, OW)
  eigen::Pooling pooling_;
};

KernelOrRefusal MakeEigenPool(const eigen::Functions& functions, KernelRequest& request,
                              const PoolOp& op) {
  if (op.algorithm() != PoolAlgorithm::kMax && request.algorithm == eigen::kRows) {
    return Refusal{"eigen has the algorithm 'rows' for maxima; averages always use it"};
  }
  if (auto refusal = eigen::SettleRows(request)) return *std::move(refusal);
  if (auto refusal = eigen::SettleAll(request, 4, Layout::ChannelsLast)) {
    return *std::move(refusal);
  }
  return eigen::Make<PoolEigen, PoolOp>(functions, request);
}

const eigen::Registration kPoolEigen("pool", MakeEigenPool, {eigen::kRows});
const FidelityDeclaration kPoolEigenFidelity[] = {
    FidelityDeclaration(
        {"pool",
         "eigen",
         Fidelity::kSame,
         "maxima by columns of channels, images shared by the threads; ours: `eigen-rows`, and "
         "averages, whose threads share rows and whose windows gather (in TensorFlow they share "
         "images and each element is added to its windows)",
         "pooling_ops_common.h",
         {Pass::kForward}}),
    FidelityDeclaration(
        {"pool",
         "eigen",
         Fidelity::kSame,
         "the maxima are found again; ours: `eigen-rows`, which saves the maxima's places, and "
         "averages, whose elements gather from their windows (in TensorFlow each gradient is added "
         "to its window, and threads share images, avgpooling_op.cc)",
         "maxpooling_op.cc",
         {Pass::kBackwardData}}),
};

}  // namespace

}  // namespace topdnn
