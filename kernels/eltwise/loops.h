// Element-wise functions as loops over row-major tensors, for backends whose libraries lack some.

#ifndef TOPDNN_KERNELS_ELTWISE_LOOPS_H_
#define TOPDNN_KERNELS_ELTWISE_LOOPS_H_

#include "kernels/eltwise/unary.h"
#include "kernels/range_loop.h"

namespace topdnn {

class UnaryLoop {
 public:
  explicit UnaryLoop(const KernelRequest& request)
      : op_(dynamic_cast<const UnaryOp&>(*request.op)),
        forward_(request.execution.pass == Pass::kForward) {}

  std::int64_t iterations() const { return op_.shape().elements(); }
  double cycles() const { return 8; }
  std::array<Arg, kLoopOperands> operands() const {
    if (forward_) return {Arg::kSrc, Arg::kSrc, Arg::kDst};
    return {Arg::kSrc, Arg::kDiffDst, Arg::kDiffSrc};
  }
  void Run(const LoopOperands& data, std::int64_t first, std::int64_t end) const {
    const auto& [src, diff_dst, result] = data;
    const std::int64_t n = end - first;
    if (forward_) {
      op_.function().values(src + first, op_.alpha(), op_.beta(), n, result + first);
    } else {
      op_.function().gradients(src + first, diff_dst + first, op_.alpha(), op_.beta(), n,
                               result + first);
    }
  }

 private:
  const UnaryOp op_;
  const bool forward_;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_ELTWISE_LOOPS_H_
