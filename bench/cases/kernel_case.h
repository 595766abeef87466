// One kernel by itself, ready to be timed: its operands have their own memory, filled with seeded
// values, and its result is checked against the reference before any time is measured.

#ifndef TOPDNN_BENCH_CASES_KERNEL_CASE_H_
#define TOPDNN_BENCH_CASES_KERNEL_CASE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "harness/measure.h"
#include "harness/record.h"
#include "kernels/element.h"
#include "kernels/kernel.h"
#include "kernels/variant.h"

namespace topdnn {

// A problem's inputs and the expected results. Computed once for all the kernels that are compared.
class KernelProblem {
 public:
  // Throws std::bad_alloc when there is too little memory.
  KernelProblem(std::shared_ptr<const Op> op, const Execution& execution);

  const std::shared_ptr<const Op>& op() const { return op_; }
  const Execution& execution() const { return execution_; }
  const Values& inputs() const { return inputs_; }
  // Operands of the forward pass that writes the workspace of this pass; empty if it reads none.
  const Values& forward_inputs() const { return forward_inputs_; }
  bool ReadsWorkspace() const { return !forward_inputs_.empty(); }

  struct Expected {
    Arg arg;
    std::vector<std::int64_t> elements;  // row-major positions, ascending
    std::vector<double> values;
  };
  // Every element if the reference is fast enough; otherwise 512 elements, spread evenly.
  const std::vector<Expected>& expected() const { return expected_; }

  // Upper bound of the bytes for the values and for the memory of one kernel.
  static std::size_t BytesNeeded(const Op& op, const Execution& execution);

 private:
  void Sample(ElementFunction element);
  void RunReference();

  std::shared_ptr<const Op> op_;
  Execution execution_;
  Values inputs_;
  Values forward_inputs_;
  std::vector<Expected> expected_;
};

// Why the problem cannot be computed: it takes more memory than may be used. Empty if it fits.
std::string WhyTooLarge(const Op& op, const Execution& execution);

// Why the backend has no kernel for the request, before the problem's values are computed: most
// refusals do not need them. Empty if no reason is known.
std::string EarlyRefusal(const std::string& backend, const KernelRequest& request);

struct CaseCheck {
  bool agrees = true;
  double error = 0;      // largest, relative to the largest expected entry of its tensor
  double tolerance = 0;  // allowed
  std::string reason;    // when it does not agree
};

class KernelCase {
 public:
  // The variant's kernel for the problem, with its memory filled, or why there is none.
  static std::variant<std::unique_ptr<KernelCase>, Refusal> Make(const Variant& variant,
                                                                 const KernelProblem& problem,
                                                                 int threads);
  // The same for a request with settled layouts. Refuses a kernel that does not keep them. The
  // request's operation and execution are those of the problem.
  static std::variant<std::unique_ptr<KernelCase>, Refusal> Make(const std::string& backend,
                                                                 KernelRequest request,
                                                                 const KernelProblem& problem);

  const Kernel& kernel() const { return *kernel_; }
  int threads() const { return threads_; }
  Work work() const { return work_; }
  // The calling thread's OpenMP width must be threads().
  void Run() noexcept { kernel_->Run(); }
  // Runs once on the problem's inputs and compares.
  CaseCheck Check(const KernelProblem& problem);
  // Removes the kernel's inputs from the caches, up to 256 MiB. No cache keeps more, whatever size
  // a virtual machine reports.
  void FlushInputs() const;

 private:
  KernelCase() = default;
  static std::variant<std::unique_ptr<KernelCase>, Refusal> MakeFrom(const std::string& backend,
                                                                     KernelRequest request,
                                                                     const KernelProblem& problem);
  // Allocates memory for every operand of `kernel` that has none, and stores the values of its
  // inputs.
  void Bind(Kernel& kernel, const std::string& backend, const Values& values,
            std::map<Arg, AlignedMemory>& memory);

  std::string backend_;
  std::string algorithm_;
  int threads_ = 1;
  Work work_;
  std::unique_ptr<Kernel> forward_;  // wrote the workspace, and lives as long as it
  std::unique_ptr<Kernel> kernel_;
  std::map<Arg, AlignedMemory> forward_memory_;
  std::map<Arg, AlignedMemory> memory_;
};

}  // namespace topdnn

#endif  // TOPDNN_BENCH_CASES_KERNEL_CASE_H_
