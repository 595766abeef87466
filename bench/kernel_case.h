// One kernel by itself, ready to be timed: its operands in memory of their own, filled with seeded
// values, and its result checked against the reference before any time is taken.

#ifndef TOPDNN_BENCH_KERNEL_CASE_H_
#define TOPDNN_BENCH_KERNEL_CASE_H_

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

// A problem's inputs and what every kernel must make of them. Computed once for all the kernels
// that are compared on it.
class KernelProblem {
 public:
  // Throws std::bad_alloc when the memory cannot hold it.
  KernelProblem(std::shared_ptr<const Op> op, const Execution& execution);

  const std::shared_ptr<const Op>& op() const { return op_; }
  const Execution& execution() const { return execution_; }
  const Values& inputs() const { return inputs_; }
  // Of the forward pass that leaves the workspace this pass reads; empty where it reads none.
  const Values& forward_inputs() const { return forward_inputs_; }
  bool ReadsWorkspace() const { return !forward_inputs_.empty(); }

  struct Expected {
    Arg arg;
    std::vector<std::int64_t> elements;  // row-major positions, ascending
    std::vector<double> values;
  };
  // Every element where the reference takes a moment; else 512 of them, spread evenly.
  const std::vector<Expected>& expected() const { return expected_; }

  // Bytes that the values, and the memory of one kernel on them, take at most.
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

struct CaseCheck {
  bool agrees = true;
  double error = 0;      // largest, relative to the largest expected entry of its tensor
  double tolerance = 0;  // allowed
  std::string reason;    // when it does not agree
};

class KernelCase {
 public:
  // The kernel that the variant has for the problem, its memory filled; or why there is none.
  static std::variant<std::unique_ptr<KernelCase>, Refusal> Make(const Variant& variant,
                                                                 const KernelProblem& problem,
                                                                 int threads);

  const Kernel& kernel() const { return *kernel_; }
  int threads() const { return threads_; }
  Work work() const { return work_; }
  // The calling thread's OpenMP width must be threads().
  void Run() noexcept { kernel_->Run(); }
  // Runs once on the problem's inputs and compares.
  CaseCheck Check(const KernelProblem& problem);
  // Takes what the kernel reads out of the caches, up to 256 MiB of it: beyond that no cache of
  // its own keeps it, whatever size a virtual machine reports.
  void FlushInputs() const;

 private:
  KernelCase() = default;
  static std::variant<std::unique_ptr<KernelCase>, Refusal> MakeFrom(const Variant& variant,
                                                                     KernelRequest request,
                                                                     const KernelProblem& problem);
  // Gives `kernel` memory for every operand that has none and stores the values of its inputs.
  void Bind(Kernel& kernel, const std::string& backend, const Values& values,
            std::map<Arg, AlignedMemory>& memory);

  std::string backend_;
  std::string algorithm_;
  int threads_ = 1;
  Work work_;
  std::unique_ptr<Kernel> forward_;  // left the workspace; lives as long as it is read
  std::unique_ptr<Kernel> kernel_;
  std::map<Arg, AlignedMemory> forward_memory_;
  std::map<Arg, AlignedMemory> memory_;
};

}  // namespace topdnn

#endif  // TOPDNN_BENCH_KERNEL_CASE_H_
