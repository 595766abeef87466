// Pooling by columns of channels (NHWC), as in TensorFlow's CPU kernels (maxpooling_op.cc,
// avgpooling_op.cc). The workspace holds the winners as defined in pool.h, (N, OH, OW, C).

#include <vector>

#include "kernels/eigen/kernel.h"
#include "kernels/fidelity.h"
#include "kernels/pool/pool.h"
#include "kernels/window.h"

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
      : EigenKernel(request, functions, "columns"),
        max_(op.algorithm() == PoolAlgorithm::kMax),
        forward_(request.execution.pass == Pass::kForward),
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
  }

 private:
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

  void Compute() override {
    auto* winners = Data<std::int32_t>(Arg::kWorkspace);
    if (forward_ && max_) {
      functions().max_pool(pool(), pooling_, Data(Arg::kSrc), Data(Arg::kDst), winners);
    } else if (forward_) {
      functions().average_pool(pool(), pooling_, Data(Arg::kSrc), Data(Arg::kDst));
    } else if (max_) {
      functions().max_pool_backward(pool(), pooling_, Data(Arg::kDiffDst), winners,
                                    Data(Arg::kDiffSrc));
    } else {
      functions().average_pool_backward(pool(), pooling_, Data(Arg::kDiffDst), Data(Arg::kDiffSrc));
    }
  }

  const bool max_, forward_;
  const Axis rows_, cols_;
  std::vector<float> divisors_;  // (OH, OW)
  eigen::Pooling pooling_;
};

KernelOrRefusal MakePool(const eigen::Functions& functions, KernelRequest& request) {
  if (auto refusal = eigen::SettleAll(request, 4, Layout::ChannelsLast)) {
    return *std::move(refusal);
  }
  return eigen::Make<PoolEigen, PoolOp>(functions, request);
}

const eigen::Registration kRegistration("pool", MakePool);
const FidelityDeclaration kFidelity[] = {
    FidelityDeclaration(
        {"pool",
         "eigen",
         Fidelity::kOurs,
         "threads share rows, and the maxima's places are saved; TensorFlow shares images",
         "maxpooling_op.cc",
         {Pass::kForward}}),
    FidelityDeclaration({"pool",
                         "eigen",
                         Fidelity::kOurs,
                         "saved places of the maxima; TensorFlow finds them again",
                         "maxpooling_op.cc",
                         {Pass::kBackwardData}}),
};

}  // namespace

}  // namespace topdnn
