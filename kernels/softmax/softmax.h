// Softmax over the classes of a batch of logits.

#ifndef TOPDNN_KERNELS_SOFTMAX_SOFTMAX_H_
#define TOPDNN_KERNELS_SOFTMAX_SOFTMAX_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/op/op.h"

namespace topdnn {

// dst = exp(src - max) / sum(exp(src - max)) along each row.
// Operands: forward src (N, K) -> dst; backward_data diff_dst, dst -> diff_src, which is
// dst * (diff_dst - sum(diff_dst * dst)).
class SoftmaxOp : public Op {
 public:
  // Throws std::invalid_argument for extents below 1.
  SoftmaxOp(std::int64_t batch, std::int64_t classes);

  std::int64_t batch() const { return batch_; }
  std::int64_t classes() const { return classes_; }

  std::string_view kind() const override { return "softmax"; }
  std::string Problem() const override;  // "n64k10"
  std::vector<Operand> Operands(const Execution& execution) const override;
  // Forward, five operations per entry: maximum, difference, exponential, sum, division. Backward,
  // four: a multiply-accumulate for the dot product, a difference, a product.
  Arithmetic ArithmeticOf(const Execution& execution) const override;
  std::int64_t AccumulationLength(Pass /*pass*/) const override { return classes_; }
  PlannerTraits Traits() const override { return {.layout_policy = LayoutPolicy::kPlain}; }

 private:
  std::int64_t batch_;
  std::int64_t classes_;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_SOFTMAX_SOFTMAX_H_
