// How a backend offers to compute an operation.
//
// A maker gets a KernelRequest and answers with a Kernel whose layouts are settled, or with the
// reason why it has none. Making one is cheap enough for a planner to ask for several and drop
// them; Prepare does the slow work (code generation, scratch memory), and Run is bare: it neither
// allocates, locks nor throws, for it is what is measured.

#ifndef TOPDNN_KERNELS_KERNEL_H_
#define TOPDNN_KERNELS_KERNEL_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "kernels/op.h"
#include "kernels/tensor.h"

namespace topdnn {

struct KernelRequest {
  std::shared_ptr<const Op> op;
  Execution execution;
  int threads = 1;
  // Layouts that are settled already. An operand that is not named, or named `any`, is the
  // backend's to choose.
  std::map<Arg, Layout> layouts;
  // An implementation of a backend that has several ("winograd"); empty for its own choice.
  std::string algorithm;

  Layout LayoutOf(Arg arg) const {
    const auto found = layouts.find(arg);
    return found == layouts.end() ? Layout::Any() : found->second;
  }
};

// The one layout of a kernel whose tensors of this shape must all have the same: the first that the
// request settles, else row-major. Nothing when the request settles two. A workspace does not
// count.
std::optional<Layout> CommonLayout(const KernelRequest& request, const Shape& shape);

// One tensor of a kernel, its layout settled.
struct KernelOperand {
  Arg arg;
  Direction direction;
  TensorDesc desc;
};

class Kernel {
 public:
  virtual ~Kernel() = default;

  const std::vector<KernelOperand>& operands() const { return operands_; }
  // The operand in the role `arg`, or nullptr.
  const KernelOperand* Find(Arg arg) const;
  // What really runs: oneDNN's implementation name, "plain loops", ...
  const std::string& implementation() const { return implementation_; }
  // ISA of the code that runs, as harness/machine spells it ("avx512", "amx"); empty: unknown.
  const std::string& isa() const { return isa_; }

  // Memory that the kernel takes for itself in Prepare.
  std::size_t scratch_bytes() const { return scratch_bytes_; }
  // Memory that it needs besides while it runs, and leaves worthless: bound as Arg::kScratch, it
  // may be the same for kernels that run one after the other; where Prepare is given none, the
  // kernel takes its own. 64-byte aligned.
  std::size_t run_scratch_bytes() const { return run_scratch_bytes_; }

  // Binds every operand to memory of its desc().bytes() and does all slow work. The memory must
  // outlive the kernel. Call again to bind anew.
  virtual void Prepare(const std::map<Arg, void*>& memory) = 0;
  // Computes. The calling thread's OpenMP width (omp_set_num_threads) must be the request's
  // `threads`.
  virtual void Run() noexcept = 0;

  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

 protected:
  Kernel() = default;
  // Settles every operand of the request in the layouts asked for, `any` and unnamed ones
  // row-major: the state that plain kernels keep.
  explicit Kernel(const KernelRequest& request);

  std::vector<KernelOperand> operands_;
  std::string implementation_;
  std::string isa_;
  std::size_t scratch_bytes_ = 0;
  std::size_t run_scratch_bytes_ = 0;
};

// Why a backend has no kernel for a request: "oneDNN 2.6.3 has no bf16 on AVX2".
struct Refusal {
  std::string reason;
};

using KernelOrRefusal = std::variant<std::unique_ptr<Kernel>, Refusal>;
using KernelMaker = KernelOrRefusal (*)(const KernelRequest& request);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_KERNEL_H_
