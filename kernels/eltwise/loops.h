// Element-wise functions as loops over row-major tensors, for backends whose libraries lack some.

#ifndef TOPDNN_KERNELS_ELTWISE_LOOPS_H_
#define TOPDNN_KERNELS_ELTWISE_LOOPS_H_

#include "kernels/eltwise/binary.h"
#include "kernels/eltwise/unary.h"
#include "kernels/kernel/range_loop.h"

namespace topdnn {

class UnaryLoop {
 public:
  explicit UnaryLoop(const KernelRequest& request)
      : op_(request.OpAs<UnaryOp>()), forward_(request.execution.pass == Pass::kForward) {}

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

// The positions of a broadcast tensor's elements in the order of the result.
class BroadcastPlaces {
 public:
  BroadcastPlaces(const Shape& from, const Shape& dst);

  // The position of the element for the element `i` of dst.
  std::int64_t Of(std::int64_t i) const;
  // The distance between the elements for two neighbours in a row of the result: 0 or 1.
  std::int64_t step() const { return step_; }

 private:
  std::vector<std::int64_t> extents_;  // of dst
  std::vector<std::int64_t> strides_;  // of the tensor; 0 where it is broadcast
  std::int64_t step_ = 0;
};

class BinaryLoop {
 public:
  explicit BinaryLoop(const KernelRequest& request)
      : op_(request.OpAs<BinaryOp>()),
        row_(RowLength(op_)),
        first_(op_.first(), op_.dst()),
        second_(op_.second(), op_.dst()) {}

  std::int64_t iterations() const { return op_.dst().elements(); }
  double cycles() const { return 2; }
  std::array<Arg, kLoopOperands> operands() const {
    return {op_.first_arg(), op_.second_arg(), Arg::kDst};
  }
  void Run(const LoopOperands& data, std::int64_t first, std::int64_t end) const;

 private:
  // The length of the last dimensions in which each source is complete, or has one element.
  static std::int64_t RowLength(const BinaryOp& op);

  const BinaryOp op_;
  const std::int64_t row_;
  const BroadcastPlaces first_, second_;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_ELTWISE_LOOPS_H_
