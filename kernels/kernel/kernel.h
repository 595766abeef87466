// How a backend offers to compute an operation.
//
// A maker takes a KernelRequest. It returns a Kernel with all layouts settled, or a Refusal with
// the reason. Making a kernel is cheap, so a planner may make several and drop all but one. Prepare
// does the slow work (code generation, scratch memory). Run is what is measured: it does not
// allocate, lock or throw.

#ifndef TOPDNN_KERNELS_KERNEL_KERNEL_H_
#define TOPDNN_KERNELS_KERNEL_KERNEL_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kernels/op/op.h"
#include "kernels/tensor/tensor.h"

namespace topdnn {

struct KernelRequest {
  std::shared_ptr<const Op> op;
  Execution execution;
  int threads = 1;
  // Layouts that are already settled. The backend chooses the layout of an operand that is missing
  // here or has the layout `any`.
  std::map<Arg, Layout> layouts;
  // An algorithm, for an operation that has several ("winograd"). Empty: the backend chooses.
  std::string algorithm;
  // An ISA, for a backend that is compiled for several (Eigen: "sse2", "avx2", "avx512"); other
  // backends ignore it. Empty: the widest that this CPU supports.
  std::string isa = {};

  // Throws std::bad_cast for another operation.
  template <typename OpType>
  const OpType& OpAs() const {
    return dynamic_cast<const OpType&>(*op);
  }
  Layout LayoutOf(Arg arg) const {
    const auto found = layouts.find(arg);
    return found == layouts.end() ? Layout::Any() : found->second;
  }
};

// The layout for a kernel that needs one layout for all tensors of this shape: the first one that
// the request settles, row-major when it settles none, nothing when it settles two different ones.
// Workspaces do not count.
std::optional<Layout> CommonLayout(const KernelRequest& request, const Shape& shape);

// The layout for a kernel that needs one layout for all its tensors, of any shapes: the first one
// that the request settles, `any` when it settles none, nothing when it settles two different ones
// or an opaque one. Workspaces do not count.
std::optional<Layout> CommonLayout(const KernelRequest& request);

// The first layout that the request settles, in the order of the operation's operands; row-major
// for `rank` when it settles none. Workspaces do not count.
Layout FirstSettledLayout(const KernelRequest& request, int rank);

// One tensor of a kernel, with its settled layout.
struct KernelOperand {
  Arg arg;
  Direction direction;
  TensorDesc desc;
  std::int64_t unread = 0;  // Operand::unread
};

class Kernel {
 public:
  virtual ~Kernel() = default;

  const std::vector<KernelOperand>& operands() const { return operands_; }
  // The operand in the role `arg`, or nullptr.
  const KernelOperand* Find(Arg arg) const;
  // The implementation that runs: oneDNN's implementation name, "plain loops", ...
  const std::string& implementation() const { return implementation_; }
  // ISA of the code that runs, in the spelling of harness/machine ("avx512", "amx"). Empty:
  // unknown.
  const std::string& isa() const { return isa_; }
  // The type in which the kernel multiplies, if it converts its operands to it. Absent: the
  // request's.
  std::optional<DataType> converts_to() const { return converts_to_; }

  // Bytes that the kernel allocates for itself in Prepare.
  std::size_t scratch_bytes() const { return scratch_bytes_; }
  // Bytes of additional memory that Run needs, 64-byte aligned; contents undefined afterwards. It
  // is bound as Arg::kScratch, and kernels that run one after the other may share it. When Prepare
  // is given none, the kernel allocates its own.
  std::size_t run_scratch_bytes() const { return run_scratch_bytes_; }

  // Binds every operand to memory of at least its desc().bytes() and does all slow work. The memory
  // must outlive the kernel. Another call binds again.
  virtual void Prepare(const std::map<Arg, void*>& memory) = 0;
  // Computes. The OpenMP width of the calling thread (omp_set_num_threads) must be the request's
  // `threads`.
  virtual void Run() noexcept = 0;

  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

 protected:
  Kernel() = default;
  // Settles every operand in the layout that the request asks for. Operands that are `any` or
  // missing there become row-major. Kernels of plain loops keep this.
  explicit Kernel(const KernelRequest& request);

  std::vector<KernelOperand> operands_;
  std::string implementation_;
  std::string isa_;
  std::optional<DataType> converts_to_;
  std::size_t scratch_bytes_ = 0;
  std::size_t run_scratch_bytes_ = 0;
};

// The reason why a backend has no kernel for a request: "oneDNN 2.6.3 has no bf16 on AVX2".
struct Refusal {
  std::string reason;
  // The backend has a kernel, which does not work here: it crashes, hangs, or writes outside of its
  // operands.
  bool failed = false;
};

// The computation that `kernel` does when it was asked for `execution` of `op`: it recomputes if it
// leaves out the workspace.
Execution ExecutionOf(const Kernel& kernel, const Op& op, const Execution& execution);

// For a backend (`whose` in the message) that always keeps the workspace: the reason why it cannot
// serve a request without one. Empty when it can.
std::string RecomputingRefusal(const KernelRequest& request, std::string_view whose);

using KernelOrRefusal = std::variant<std::unique_ptr<Kernel>, Refusal>;
using KernelMaker = std::function<KernelOrRefusal(const KernelRequest& request)>;

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_KERNEL_KERNEL_H_
