// A computation with seeded inputs and the reference's results, and the comparison of a kernel's
// results with them.

#ifndef TOPDNN_KERNELS_CHECK_KERNEL_PROBLEM_H_
#define TOPDNN_KERNELS_CHECK_KERNEL_PROBLEM_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/kernel/kernel.h"
#include "kernels/op/element.h"

namespace topdnn {

// A problem's inputs and the expected results. Computed once for all the kernels that are compared.
class KernelProblem {
 public:
  // Throws std::bad_alloc when there is too little memory.
  KernelProblem(std::shared_ptr<const Op> op, const Execution& execution);

  const std::shared_ptr<const Op>& op() const { return op_; }
  const Execution& execution() const { return execution_; }
  // Includes the inputs of a kernel that recomputes (Execution::recomputes).
  const Values& inputs() const { return inputs_; }
  // Operands of the forward pass that writes the workspace of this pass; empty if it reads none.
  const Values& forward_inputs() const { return forward_inputs_; }
  bool ReadsWorkspace() const { return !forward_inputs_.empty(); }

  struct Expected {
    Arg arg;
    std::vector<std::int64_t> elements;  // row-major positions, ascending
    std::vector<double> values;
  };
  // Every element if the reference is fast enough; otherwise 512 elements, spread evenly, or those
  // of the first image.
  const std::vector<Expected>& expected() const { return expected_; }
  // The magnitude of the terms of a result: the largest entry that the reference computes from the
  // absolute values of the inputs. Rounding errors of a sum are relative to it, because terms may
  // cancel. What a forward pass writes to the workspace keeps its signs. 0 if the result is no sum
  // or of whole numbers. Slow.
  double MagnitudeOf(Arg arg) const;

  // Upper bound of the bytes for the values and for the memory of one kernel. A comparison takes
  // more while it runs.
  static std::size_t BytesNeeded(const Op& op, const Execution& execution);

 private:
  void Compute();
  void Sample(ElementFunction element);
  // `op`: of all images, or of the first one.
  void RunReference(const std::shared_ptr<const Op>& op);

  std::shared_ptr<const Op> op_;
  Execution execution_;
  Values inputs_;
  Values forward_inputs_;
  std::vector<Expected> expected_;
};

struct CaseCheck {
  bool agrees = true;
  double error = 0;      // largest, relative to the largest expected entry of its tensor
  double tolerance = 0;  // allowed
  std::string reason;    // when it does not agree
};

// Compares the results of a kernel of `backend` that ran once on the problem's inputs. `memory` is
// that of its operands.
CaseCheck CompareWithReference(const KernelProblem& problem, const Kernel& kernel,
                               const std::map<Arg, void*>& memory, const std::string& backend,
                               std::string_view algorithm);

// The forward pass that writes what a pass reads.
Execution ForwardOf(const Execution& execution);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_CHECK_KERNEL_PROBLEM_H_
