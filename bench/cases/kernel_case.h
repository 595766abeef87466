// One kernel by itself, ready to be timed: its operands have their own memory, filled with seeded
// values, and its result is checked against the reference before any time is measured.

#ifndef TOPDNN_BENCH_CASES_KERNEL_CASE_H_
#define TOPDNN_BENCH_CASES_KERNEL_CASE_H_

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "harness/measure/measure.h"
#include "harness/results/record.h"
#include "kernels/check/kernel_problem.h"
#include "kernels/kernel/kernel.h"
#include "kernels/kernel/variant.h"

namespace topdnn {

// Why the problem cannot be computed: it takes more memory than may be used. Empty if it fits.
std::string WhyTooLarge(const Op& op, const Execution& execution);

// Why the backend has no kernel for the request, before the problem's values are computed: most
// refusals do not need them. Empty if no reason is known, and for a kernel that does not work
// (Refusal::failed), which KernelCase::Make tells apart.
std::string EarlyRefusal(const std::string& backend, const KernelRequest& request);

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

  const std::string& backend() const { return backend_; }
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
  // Of its operands.
  std::vector<std::span<const std::byte>> OperandMemory() const;

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
