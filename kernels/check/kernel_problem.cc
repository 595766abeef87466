#include "kernels/check/kernel_problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <stdexcept>
#include <utility>
#include <variant>

#include "kernels/check/random_inputs.h"
#include "kernels/check/tolerance.h"
#include "kernels/kernel/failed_kernel.h"
#include "kernels/kernel/registry.h"
#include "kernels/kernel/run_failure.h"
#include "kernels/reorder/store.h"

namespace topdnn {

namespace {

constexpr std::uint64_t kSeed = 1;
// The reference computes this many multiply-accumulates in about a second.
constexpr std::int64_t kMaxReferenceMacs = 200'000'000;
constexpr std::int64_t kSampledElements = 512;

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
      const auto elements = static_cast<std::size_t>(operand.desc.shape.elements());
      FromDouble(std::span(found->second).first(elements), operand.desc, tensor.data());
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

// The values of some elements, located by the layout if it has a tag.
std::vector<double> ReadElements(const TensorDesc& desc, const void* data,
                                 const std::vector<std::int64_t>& elements,
                                 const std::string& backend) {
  if (elements.size() == static_cast<std::size_t>(desc.shape.elements())) {
    return LoadValues(desc, data, backend);  // all of them, which are in order
  }
  std::vector<double> values(elements.size());
  if (desc.layout.is_opaque()) {
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

bool IsWhole(DataType type) {
  return type == DataType::kS8 || type == DataType::kU8 || type == DataType::kS32;
}

// The expected values as a type of whole numbers stores them: they saturate, and a result that lies
// between two whole numbers may be either.
std::vector<double> InWholeNumbers(std::vector<double> expected, const std::vector<double>& values,
                                   DataType type) {
  const double low = type == DataType::kU8 ? 0 : (type == DataType::kS8 ? -128 : -0x1p31);
  const double high = type == DataType::kU8 ? 255 : (type == DataType::kS8 ? 127 : 0x1p31 - 1);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double clamped = std::clamp(expected[i], low, high);
    const double whole = std::nearbyint(clamped);
    // (a fraction comes from a factor, and was computed in f32)
    const double between = 0.5 + std::max(0x1p-10, std::abs(clamped) * 0x1p-22);
    const bool either = clamped != whole && std::abs(values[i] - clamped) <= between;
    expected[i] = either ? values[i] : whole;
  }
  return expected;
}

// The largest finite value.
double LargestOf(const std::vector<double>& values) {
  double largest = 0;
  for (const double value : values) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  return largest;
}

}  // namespace

Execution ForwardOf(const Execution& execution) { return {Pass::kForward, true, execution.type}; }

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
  Compute();
}

void KernelProblem::Compute() {
  const ElementFunction element = FindElement(op_->kind());
  const bool large = op_->WorkIn(execution_).macs > kMaxReferenceMacs;
  const std::shared_ptr<const Op> first = large ? op_->OfFirstImage() : nullptr;
  if (element != nullptr && large) {
    Sample(element);
  } else {
    RunReference(first == nullptr ? op_ : first);
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

void KernelProblem::RunReference(const std::shared_ptr<const Op>& op) {
  const std::unique_ptr<Kernel> kernel = ReferenceFor(op, execution_);
  std::map<Arg, Tensor> tensors = TensorsFor(*kernel, inputs_);
  std::unique_ptr<Kernel> forward;
  std::map<Arg, Tensor> forward_tensors;
  if (ReadsWorkspace()) {
    forward = ReferenceFor(op_, ForwardOf(execution_));
    forward_tensors = TensorsFor(*forward, forward_inputs_);
    RunOn(*forward, forward_tensors);
    // Includes the operands that a kernel that recomputes reads instead of the workspace.
    for (const Execution& form : {execution_, Recomputing(execution_)}) {
      for (const Operand& operand : op_->Operands(form)) {
        const auto made = forward_tensors.find(operand.arg);
        if (operand.direction == Direction::kOut || made == forward_tensors.end()) continue;
        if (operand.arg == Arg::kWorkspace) continue;
        inputs_[operand.arg] = ToDouble(made->second.desc(), made->second.data());
      }
    }
    for (const KernelOperand& operand : kernel->operands()) {
      const auto made = forward_tensors.find(operand.arg);
      if (operand.direction == Direction::kOut || made == forward_tensors.end()) continue;
      tensors[operand.arg] = std::move(made->second);
    }
  }
  RunOn(*kernel, tensors);
  for (const KernelOperand& operand : kernel->operands()) {
    if (operand.direction == Direction::kIn || operand.arg == Arg::kWorkspace) continue;
    Expected expected{operand.arg, {}, ToDouble(operand.desc, tensors.at(operand.arg).data())};
    expected.elements.resize(expected.values.size());
    std::iota(expected.elements.begin(), expected.elements.end(), 0);
    expected_.push_back(std::move(expected));
  }
}

double KernelProblem::MagnitudeOf(Arg arg) const {
  if (op_->AccumulationLength(execution_.pass) < 2 || IsWhole(execution_.type)) return 0;
  KernelProblem positive = *this;
  positive.inputs_ = Magnitudes(inputs_);
  positive.expected_.clear();
  positive.Compute();
  for (const Expected& sums : positive.expected_) {
    if (sums.arg == arg) return LargestOf(sums.values);
  }
  return 0;
}

std::size_t KernelProblem::BytesNeeded(const Op& op, const Execution& execution) {
  double most = 0;
  for (const Execution& form : {execution, Recomputing(execution)}) {
    double bytes = 0;
    for (const Operand& operand : op.Operands(form)) {
      // While values are stored: values as double and positions, 8 bytes each, and the operand
      // itself with room for padded blocks.
      bytes += static_cast<double>(operand.shape.elements()) *
               (2 * 8.0 + 2.0 * static_cast<double>(SizeOf(operand.type)));
    }
    most = std::max(most, bytes);
  }
  return static_cast<std::size_t>(most);
}

CaseCheck CompareWithReference(const KernelProblem& problem, const Kernel& kernel,
                               const std::map<Arg, void*>& memory, const std::string& backend,
                               std::string_view algorithm) {
  CaseCheck check;
  check.tolerance = Tolerance(*problem.op(), problem.execution(), algorithm);
  for (const KernelProblem::Expected& expected : problem.expected()) {
    const KernelOperand* operand = kernel.Find(expected.arg);
    const std::vector<double> values =
        ReadElements(operand->desc, memory.at(expected.arg), expected.elements, backend);
    const DataType type = operand->desc.type;
    const double rounding = RoundingOfResults(*problem.op(), problem.execution().pass, type);
    std::vector<double> stored = expected.values;
    if (IsWhole(type)) {
      stored = InWholeNumbers(std::move(stored), values, type);
    } else if (check.tolerance == 0) {
      stored = RoundedTo(type, std::move(stored));
    }
    double scale = 0;
    double error = RelativeError(values, stored, scale, rounding);
    // A result may be a small difference of large numbers, such as a normalized value. Their size
    // is needed only then, and takes another run of the reference.
    if (!(error <= check.tolerance)) {
      scale = problem.MagnitudeOf(expected.arg);
      if (expected.arg == Arg::kDst) {
        scale = std::max(scale, problem.op()->MagnitudeOfDst(problem.execution(), [&](Arg arg) {
          const auto input = problem.inputs().find(arg);
          if (input != problem.inputs().end()) return input->second;
          return LoadValues(kernel.Find(arg)->desc, memory.at(arg), backend);
        }));
      }
      error = RelativeError(values, stored, scale, rounding);
    }
    if (!(error <= check.error)) check.error = error;
    if (error <= check.tolerance) continue;
    check.agrees = false;
    check.reason = fmt::format(
        "{} differs from the reference by {:.3g} of its largest entry, {:.3g} allowed; its "
        "element {} is the first",
        NameOf(expected.arg), error, check.tolerance,
        FirstWrongElement(values, stored, check.tolerance, scale, rounding, operand->desc.shape,
                          expected.elements));
  }
  if (std::string failure = TakeRunFailure(); !failure.empty()) {
    check.agrees = false;
    check.reason = std::move(failure);
  }
  if (std::string failure = FailureOf(kernel); !failure.empty()) {
    check.agrees = false;
    check.reason = std::move(failure);
  }
  return check;
}

}  // namespace topdnn
