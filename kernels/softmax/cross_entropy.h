// Softmax cross-entropy of logits and class labels. One operation computes loss and gradient, as
// TensorFlow's SparseSoftmaxCrossEntropyWithLogits does.

#ifndef TOPDNN_KERNELS_SOFTMAX_CROSS_ENTROPY_H_
#define TOPDNN_KERNELS_SOFTMAX_CROSS_ENTROPY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/op/op.h"

namespace topdnn {

// Operands: forward src logits (N, K), labels s32 (N) -> loss (), the mean over the batch of -log
// softmax(src)[label]; in training also diff_src (N, K) = (softmax(src) - onehot(labels)) / N.
// Precondition: 0 <= label < K. Kernels do not check it.
class SoftmaxCrossEntropyOp : public Op {
 public:
  // Throws std::invalid_argument for extents below 1.
  SoftmaxCrossEntropyOp(std::int64_t batch, std::int64_t classes);

  std::int64_t batch() const { return batch_; }
  std::int64_t classes() const { return classes_; }

  std::string_view kind() const override { return "softmax_cross_entropy"; }
  std::string Problem() const override;  // "n64k10"
  std::vector<Operand> Operands(const Execution& execution) const override;
  // Five operations per entry: maximum, difference, exponential, sum, and the scaling of the
  // gradient.
  Arithmetic ArithmeticOf(const Execution& execution) const override;
  std::int64_t AccumulationLength(Pass /*pass*/) const override { return batch_ + classes_; }
  PlannerTraits Traits() const override { return {.layout_policy = LayoutPolicy::kPlain}; }

 private:
  std::int64_t batch_;
  std::int64_t classes_;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_SOFTMAX_CROSS_ENTROPY_H_
