#include "bench/cases/kernel_case.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/workload/workload.h"
#include "harness/measure/flush.h"
#include "kernels/kernel/registry.h"
#include "kernels/kernel/thread_width.h"
#include "kernels/kernel/traffic.h"
#include "kernels/reorder/store.h"

namespace topdnn {

namespace {

constexpr std::size_t kMaxFlushed = std::size_t{256} << 20;

}  // namespace

std::string WhyTooLarge(const Op& op, const Execution& execution) {
  const std::size_t needed = KernelProblem::BytesNeeded(op, execution);
  const std::size_t limit = MemoryLimit();
  if (limit == 0 || needed <= limit) return {};  // (0: not known)
  constexpr double kGiB = 1 << 30;
  return fmt::format("it takes {:.1f} GiB, {:.1f} GiB may be used",
                     static_cast<double>(needed) / kGiB, static_cast<double>(limit) / kGiB);
}

std::string EarlyRefusal(const std::string& backend, const KernelRequest& request) {
  std::string reason = WhyTooLarge(*request.op, request.execution);
  // A pass that reads a workspace needs its layout, which the forward kernel chooses.
  if (!reason.empty() || request.op->Find(request.execution, Arg::kWorkspace)) return reason;
  const KernelOrRefusal answer = MakeKernel(backend, request);
  const auto* refusal = std::get_if<Refusal>(&answer);
  return refusal == nullptr || refusal->failed ? std::string() : refusal->reason;
}

std::variant<std::unique_ptr<KernelCase>, Refusal> KernelCase::Make(const Variant& variant,
                                                                    const KernelProblem& problem,
                                                                    int threads) {
  std::optional<KernelRequest> request =
      RequestOf(variant, problem.op(), problem.execution(), threads);
  if (!request) {
    return Refusal{fmt::format("{} does not support {}", variant.name, problem.op()->kind())};
  }
  return MakeFrom(variant.backend, *std::move(request), problem);
}

std::variant<std::unique_ptr<KernelCase>, Refusal> KernelCase::Make(const std::string& backend,
                                                                    KernelRequest request,
                                                                    const KernelProblem& problem) {
  const std::map<Arg, Layout> settled = request.layouts;
  auto made = MakeFrom(backend, std::move(request), problem);
  if (std::holds_alternative<Refusal>(made)) return made;
  const Kernel& kernel = std::get<std::unique_ptr<KernelCase>>(made)->kernel();
  for (const auto& [arg, layout] : settled) {
    const KernelOperand* const operand = kernel.Find(arg);
    if (operand == nullptr || layout.is_any()) continue;
    if (!operand->desc.layout.SameFor(operand->desc.shape, layout)) {
      return Refusal{fmt::format("{} computes {} in {}, not in {}", backend, NameOf(arg),
                                 operand->desc.layout.tag(), layout.tag())};
    }
  }
  return made;
}

std::variant<std::unique_ptr<KernelCase>, Refusal> KernelCase::MakeFrom(
    const std::string& backend, KernelRequest request, const KernelProblem& problem) try {
  std::unique_ptr<KernelCase> made(new KernelCase);
  made->backend_ = backend;
  made->algorithm_ = request.algorithm;
  made->threads_ = request.threads;
  const ThreadWidth width(request.threads);
  if (problem.ReadsWorkspace()) {
    KernelRequest forward = request;
    forward.execution = ForwardOf(request.execution);
    forward.layouts[Arg::kSrc] = request.LayoutOf(Arg::kDiffSrc);
    forward.layouts[Arg::kDst] = request.LayoutOf(Arg::kDiffDst);
    KernelOrRefusal answer = MakeKernel(backend, forward);
    if (auto* refusal = std::get_if<Refusal>(&answer)) return std::move(*refusal);
    made->forward_ = std::get<std::unique_ptr<Kernel>>(std::move(answer));
    const KernelOperand* const workspace = made->forward_->Find(Arg::kWorkspace);
    if (workspace != nullptr) {
      request.layouts[Arg::kWorkspace] = workspace->desc.layout;
    } else {
      made->forward_ = nullptr;  // backward recomputes from the problem's inputs
    }
  }
  KernelOrRefusal answer = MakeKernel(backend, request);
  if (auto* refusal = std::get_if<Refusal>(&answer)) return std::move(*refusal);
  made->kernel_ = std::get<std::unique_ptr<Kernel>>(std::move(answer));
  made->work_ =
      problem.op()->WorkIn(ExecutionOf(*made->kernel_, *problem.op(), problem.execution()));
  made->work_.bytes = CompulsoryBytes(*made->kernel_);
  if (made->forward_ != nullptr) {
    made->Bind(*made->forward_, backend, problem.forward_inputs(), made->forward_memory_);
    made->forward_->Run();
    made->memory_[Arg::kWorkspace] = std::move(made->forward_memory_[Arg::kWorkspace]);
  }
  made->Bind(*made->kernel_, backend, problem.inputs(), made->memory_);
  return made;
} catch (const std::invalid_argument& error) {
  // The values alone do not determine this form of weights (oneDNN's int8 Winograd).
  return Refusal{error.what()};
}

void KernelCase::Bind(Kernel& kernel, const std::string& backend, const Values& values,
                      std::map<Arg, AlignedMemory>& memory) {
  std::map<Arg, void*> bound;
  for (const KernelOperand& operand : kernel.operands()) {
    AlignedMemory& own = memory[operand.arg];
    if (own.data() == nullptr) own = AlignedMemory(operand.desc.bytes());
    const auto found = values.find(operand.arg);
    if (found != values.end() && operand.direction != Direction::kOut) {
      StoreValues(found->second, operand.desc, own.data(), backend);
    }
    bound[operand.arg] = own.data();
  }
  kernel.Prepare(bound);
}

CaseCheck KernelCase::Check(const KernelProblem& problem) {
  {
    const ThreadWidth width(threads_);
    Run();
  }
  std::map<Arg, void*> memory;
  for (const auto& [arg, own] : memory_) memory[arg] = own.data();
  return CompareWithReference(problem, *kernel_, memory, backend_, algorithm_);
}

std::vector<std::span<const std::byte>> KernelCase::OperandMemory() const {
  std::vector<std::span<const std::byte>> memory;
  for (const auto& [arg, own] : memory_) {
    memory.emplace_back(static_cast<const std::byte*>(own.data()), own.bytes());
  }
  return memory;
}

void KernelCase::FlushInputs() const {
  std::size_t left = kMaxFlushed;
  for (const KernelOperand& operand : kernel_->operands()) {
    if (operand.direction == Direction::kOut) continue;
    const AlignedMemory& memory = memory_.at(operand.arg);
    const std::size_t bytes = std::min(left, memory.bytes());
    FlushFromCaches({memory.data(), bytes});
    left -= bytes;
  }
}

}  // namespace topdnn
