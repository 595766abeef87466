#include "bench/cases/kernel_case.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/workload/workload.h"
#include "harness/flush.h"
#include "kernels/random_inputs.h"
#include "kernels/registry.h"
#include "kernels/reorder/store.h"
#include "kernels/run_failure.h"
#include "kernels/thread_width.h"
#include "kernels/tolerance.h"
#include "kernels/traffic.h"

namespace topdnn {

namespace {

constexpr std::uint64_t kSeed = 1;
// The reference computes this many multiply-accumulates in about a second.
constexpr std::int64_t kMaxReferenceMacs = 200'000'000;
constexpr std::int64_t kSampledElements = 512;
constexpr std::size_t kMaxFlushed = std::size_t{256} << 20;

// Arithmetic of the reference: f64 on the same values that the kernel reads.
Execution InF64(Execution execution) {
  execution.type = DataType::kF64;
  return execution;
}

std::unique_ptr<Kernel> ReferenceFor(const std::shared_ptr<const Op>& op,
                                     const Execution& execution) {
  KernelRequest request;
  request.op = op;
  request.execution = InF64(execution);
  KernelOrRefusal answer = MakeKernel("reference", request);
  if (const auto* refusal = std::get_if<Refusal>(&answer)) {
    throw std::runtime_error(fmt::format("the reference cannot check it: {}", refusal->reason));
  }
  return std::get<std::unique_ptr<Kernel>>(std::move(answer));
}

// Separate memory of the reference for every operand, filled with the values of those that have
// some.
std::map<Arg, Tensor> TensorsFor(const Kernel& kernel, const Values& values) {
  std::map<Arg, Tensor> tensors;
  for (const KernelOperand& operand : kernel.operands()) {
    Tensor tensor(operand.desc);
    const auto found = values.find(operand.arg);
    if (found != values.end() && operand.direction != Direction::kOut) {
      FromDouble(found->second, operand.desc, tensor.data());
    }
    tensors.emplace(operand.arg, std::move(tensor));
  }
  return tensors;
}

void RunOn(Kernel& kernel, const std::map<Arg, Tensor>& tensors) {
  std::map<Arg, void*> memory;
  for (const auto& [arg, tensor] : tensors) memory[arg] = tensor.data();
  kernel.Prepare(memory);
  kernel.Run();
}

Execution ForwardOf(const Execution& execution) { return {Pass::kForward, true, execution.type}; }

// The values of some elements, located by the layout if it has a tag.
std::vector<double> ReadElements(const TensorDesc& desc, const void* data,
                                 const std::vector<std::int64_t>& elements,
                                 const std::string& backend) {
  std::vector<double> values(elements.size());
  const auto total = static_cast<std::size_t>(desc.shape.elements());
  if (desc.layout.is_opaque() || elements.size() == total) {
    const std::vector<double> all = LoadValues(desc, data, backend);
    for (std::size_t i = 0; i < elements.size(); ++i) {
      values[i] = all[static_cast<std::size_t>(elements[i])];
    }
    return values;
  }
  std::vector<std::int64_t> from(elements.size());
  std::vector<std::int64_t> to(elements.size());
  std::vector<std::int64_t> index(static_cast<std::size_t>(desc.shape.rank()));
  for (std::size_t i = 0; i < elements.size(); ++i) {
    std::int64_t rest = elements[i];
    for (int d = desc.shape.rank() - 1; d >= 0; --d) {
      index[static_cast<std::size_t>(d)] = rest % desc.shape[d];
      rest /= desc.shape[d];
    }
    from[i] = desc.layout.OffsetOf(desc.shape, index);
    to[i] = static_cast<std::int64_t>(i);
  }
  CopyElements(desc.type, data, from, DataType::kF64, values.data(), to);
  return values;
}

}  // namespace

KernelProblem::KernelProblem(std::shared_ptr<const Op> op, const Execution& execution)
    : op_(std::move(op)), execution_(execution), inputs_(RandomInputs(*op_, execution, kSeed)) {
  const auto workspace = op_->Find(execution_, Arg::kWorkspace);
  if (workspace && workspace->direction == Direction::kIn) {
    forward_inputs_ = RandomInputs(*op_, ForwardOf(execution_), kSeed + 1);
    // Besides the workspace, backward reads the same operands as forward.
    for (auto& [arg, values] : inputs_) {
      const auto found = forward_inputs_.find(arg);
      if (found != forward_inputs_.end()) values = found->second;
    }
  }
  const ElementFunction element = FindElement(op_->kind());
  if (element != nullptr &&
      op_->WorkOf(execution_.pass, execution_.type).macs > kMaxReferenceMacs) {
    Sample(element);
  } else {
    RunReference();
  }
}

void KernelProblem::Sample(ElementFunction element) {
  for (const Operand& operand : op_->Operands(execution_)) {
    if (operand.direction == Direction::kIn) continue;
    const std::int64_t total = operand.shape.elements();
    const std::int64_t n = std::min(total, kSampledElements);
    Expected expected{operand.arg, std::vector<std::int64_t>(static_cast<std::size_t>(n)),
                      std::vector<double>(static_cast<std::size_t>(n))};
    // At the fraction (i + 1/2) / n: the positions are not all multiples of a row or block length.
#pragma omp parallel for
    for (std::int64_t i = 0; i < n; ++i) {
      const auto at = static_cast<std::size_t>(i);
      expected.elements[at] = (2 * i + 1) * total / (2 * n);
      expected.values[at] =
          element(*op_, execution_.pass, inputs_, operand.arg, expected.elements[at]);
    }
    expected_.push_back(std::move(expected));
  }
}

void KernelProblem::RunReference() {
  const std::unique_ptr<Kernel> kernel = ReferenceFor(op_, execution_);
  std::map<Arg, Tensor> tensors = TensorsFor(*kernel, inputs_);
  std::unique_ptr<Kernel> forward;
  std::map<Arg, Tensor> forward_tensors;
  if (ReadsWorkspace()) {
    forward = ReferenceFor(op_, ForwardOf(execution_));
    forward_tensors = TensorsFor(*forward, forward_inputs_);
    RunOn(*forward, forward_tensors);
    for (const KernelOperand& operand : kernel->operands()) {
      const auto made = forward_tensors.find(operand.arg);
      if (operand.direction == Direction::kOut || made == forward_tensors.end()) continue;
      if (operand.arg != Arg::kWorkspace) {
        inputs_[operand.arg] = ToDouble(made->second.desc(), made->second.data());
      }
      tensors[operand.arg] = std::move(made->second);
    }
  }
  RunOn(*kernel, tensors);
  for (const KernelOperand& operand : kernel->operands()) {
    if (operand.direction == Direction::kIn || operand.arg == Arg::kWorkspace) continue;
    Expected expected{operand.arg, {}, ToDouble(operand.desc, tensors.at(operand.arg).data())};
    for (std::size_t i = 0; i < expected.values.size(); ++i) {
      expected.elements.push_back(static_cast<std::int64_t>(i));
    }
    expected_.push_back(std::move(expected));
  }
}

std::size_t KernelProblem::BytesNeeded(const Op& op, const Execution& execution) {
  double bytes = 0;
  for (const Operand& operand : op.Operands(execution)) {
    // While values are stored: values as double and positions, 8 bytes each, and the operand itself
    // with room for padded blocks.
    bytes += static_cast<double>(operand.shape.elements()) *
             (2 * 8.0 + 2.0 * static_cast<double>(SizeOf(operand.type)));
  }
  return static_cast<std::size_t>(bytes);
}

std::string WhyTooLarge(const Op& op, const Execution& execution) {
  const std::size_t needed = KernelProblem::BytesNeeded(op, execution);
  const std::size_t limit = MemoryLimit();
  if (needed <= limit) return {};
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
  return refusal == nullptr ? std::string() : refusal->reason;
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
  made->work_ = problem.op()->WorkIn(problem.execution());
  const ThreadWidth width(request.threads);
  if (problem.ReadsWorkspace()) {
    KernelRequest forward = request;
    forward.execution = ForwardOf(request.execution);
    forward.layouts[Arg::kSrc] = request.LayoutOf(Arg::kDiffSrc);
    forward.layouts[Arg::kDst] = request.LayoutOf(Arg::kDiffDst);
    KernelOrRefusal answer = MakeKernel(backend, forward);
    if (auto* refusal = std::get_if<Refusal>(&answer)) return std::move(*refusal);
    made->forward_ = std::get<std::unique_ptr<Kernel>>(std::move(answer));
    request.layouts[Arg::kWorkspace] = made->forward_->Find(Arg::kWorkspace)->desc.layout;
  }
  KernelOrRefusal answer = MakeKernel(backend, request);
  if (auto* refusal = std::get_if<Refusal>(&answer)) return std::move(*refusal);
  made->kernel_ = std::get<std::unique_ptr<Kernel>>(std::move(answer));
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
  CaseCheck check;
  check.tolerance = Tolerance(*problem.op(), problem.execution(), algorithm_);
  {
    const ThreadWidth width(threads_);
    Run();
  }
  for (const KernelProblem::Expected& expected : problem.expected()) {
    const KernelOperand* operand = kernel_->Find(expected.arg);
    const double error = RelativeError(
        ReadElements(operand->desc, memory_.at(expected.arg).data(), expected.elements, backend_),
        expected.values, 0.0, RoundingOfResults(*problem.op(), problem.execution()));
    if (!(error <= check.error)) check.error = error;
    if (error <= check.tolerance) continue;
    check.agrees = false;
    check.reason =
        fmt::format("{} differs from the reference by {:.3g} of its largest entry, {:.3g} allowed",
                    NameOf(expected.arg), error, check.tolerance);
  }
  if (std::string failure = TakeRunFailure(); !failure.empty()) {
    check.agrees = false;
    check.reason = std::move(failure);
  }
  return check;
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
