#include "tests/kernels/kernel_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <mutex>
#include <regex>
#include <string>
#include <utility>
#include <variant>

#include "kernels/activation/relu.h"
#include "kernels/kernel/thread_width.h"
#include "kernels/library/onednn.h"
#include "kernels/op/element.h"
#include "kernels/op/problem.h"
#include "kernels/reorder/store.h"
#include "tests/kernels/case_count.h"

namespace topdnn {

namespace {

// The upper bound of a fused ReLU cuts a result, but not the rounding error of its sum.
KernelRequest WithoutBound(KernelRequest request) {
  static const std::regex bound("(_relu|_dwrelu)_(bound|dwbound)[^_]+");
  const std::string problem = request.op->Problem();
  const std::string unbounded = std::regex_replace(problem, bound, "$1");
  if (unbounded != problem) {
    request.op = ParseProblem(std::string(request.op->kind()) + "/" + unbounded);
  }
  return request;
}

// An Eigen thread pool exists as long as a kernel uses it. This keeps one kernel per width until
// the program ends, so that thousands of tests need not create new threads. Checks may run in
// several threads.
void KeepPool(const std::string& backend, int threads) {
  if (!backend.starts_with("eigen")) return;
  static std::mutex mutex;
  static std::map<std::pair<std::string, int>, std::unique_ptr<Kernel>> kept;
  static float operands[2];
  const std::lock_guard lock(mutex);
  std::unique_ptr<Kernel>& keeper = kept[{backend, threads}];
  if (keeper != nullptr) return;
  KernelOrRefusal answer =
      MakeKernel(backend, RequestFor(std::make_shared<ReluOp>(Shape{1}), {}, threads));
  if (std::holds_alternative<Refusal>(answer)) return;
  keeper = std::get<std::unique_ptr<Kernel>>(std::move(answer));
  keeper->Prepare({{Arg::kSrc, &operands[0]}, {Arg::kDst, &operands[1]}});
}

// NaN as f32, bf16 and f64, and -1 as s32. It remains visible if a kernel adds to its result, or
// does not write its zeros.
void Poison(const GuardedMemory& memory) { std::memset(memory.data(), 0xff, memory.bytes()); }

}  // namespace

GuardedMemory::GuardedMemory(std::size_t bytes) : bytes_(bytes), memory_(bytes + 2 * kGuard) {
  std::memset(memory_.data(), kPattern, kGuard);
  std::memset(memory_.data() + kGuard + bytes_, kPattern, kGuard);
}

bool GuardedMemory::Intact() const {
  const auto untouched = [](std::byte b) { return b == std::byte{kPattern}; };
  return std::all_of(memory_.data(), memory_.data() + kGuard, untouched) &&
         std::all_of(data() + bytes_, data() + bytes_ + kGuard, untouched);
}

KernelRun::KernelRun(const std::string& backend, const KernelRequest& request)
    : backend_(backend), request_(request), answer_(MakeKernel(backend, request)) {
  if (!kernel()) return;
  KeepPool(backend, request.threads);
  for (const KernelOperand& operand : kernel()->operands()) {
    const GuardedMemory& memory =
        memory_.emplace(operand.arg, GuardedMemory(operand.desc.bytes())).first->second;
    if (operand.direction == Direction::kOut) Poison(memory);
  }
}

Kernel* KernelRun::kernel() const {
  const auto* made = std::get_if<std::unique_ptr<Kernel>>(&answer_);
  return made != nullptr ? made->get() : nullptr;
}

std::string KernelRun::refusal() const {
  const auto* refused = std::get_if<Refusal>(&answer_);
  return refused != nullptr ? refused->reason : "";
}

void KernelRun::Set(Arg arg, const std::vector<double>& values) {
  StoreValues(values, DescOf(arg), memory_.at(arg).data(), backend_);
  // An opaque layout may have no reorder back (oneDNN's int8 weights). Then the stored content is
  // known only from these values, which the caller gives in the operand's type.
  if (DescOf(arg).layout.is_opaque()) stored_[arg] = values;
}

std::vector<double> KernelRun::Get(Arg arg) const {
  const auto stored = stored_.find(arg);
  if (stored != stored_.end()) return stored->second;
  return LoadValues(DescOf(arg), memory_.at(arg).data(), backend_);
}

void KernelRun::SetInputs(const Values& values) {
  for (const KernelOperand& operand : kernel()->operands()) {
    const auto found = values.find(operand.arg);
    if (operand.direction != Direction::kOut && found != values.end()) {
      Set(operand.arg, found->second);
    }
  }
}

void KernelRun::Run() {
  std::map<Arg, void*> bound;
  for (const auto& [arg, memory] : memory_) bound[arg] = memory.data();
  for (const auto& [arg, of] : aliases_) bound[arg] = memory_.at(of).data();
  kernel()->Prepare(bound);
  RunAgain();
}

void KernelRun::RunAgain() {
  const ThreadWidth width(request_.threads);
  kernel()->Run();
  for (const auto& [arg, memory] : memory_) {
    EXPECT_TRUE(memory.Intact()) << "the kernel wrote outside of " << NameOf(arg);
  }
}

std::string Describe(const std::string& backend, const KernelRequest& request) {
  std::string text = std::string(request.op->kind()) + "/" + request.op->Problem() + "/" +
                     std::string(NameOf(request.execution.pass)) + "/" + backend + "/" +
                     std::string(NameOf(request.execution.type)) + "/t" +
                     std::to_string(request.threads) +
                     (request.execution.training ? "" : "/inference");
  for (const auto& [arg, layout] : request.layouts) {
    if (!layout.is_any()) text += " " + NameOf(arg) + "=" + layout.tag();
  }
  return text;
}

KernelRequest RequestFor(std::shared_ptr<const Op> op, const Execution& execution, int threads) {
  KernelRequest request;
  request.op = std::move(op);
  request.execution = execution;
  request.threads = threads;
  return request;
}

KernelRequest RequestOnImages(const std::string& problem, const std::string& algorithm,
                              const Execution& execution, int threads, const std::string& layout) {
  KernelRequest request = RequestFor(ParseProblem(problem), execution, threads);
  request.algorithm = algorithm;
  const bool forward = execution.pass == Pass::kForward;
  request.layouts[forward ? Arg::kSrc : Arg::kDiffDst] = *Layout::Parse(layout);
  return request;
}

KernelRequest ReferenceRequest(const KernelRequest& request) {
  Execution in_f64 = request.execution;
  in_f64.type = DataType::kF64;
  return RequestFor(request.op, in_f64, 1);
}

KernelRequest ForwardOf(const KernelRequest& request) {
  KernelRequest forward =
      RequestFor(request.op, {Pass::kForward, true, request.execution.type}, request.threads);
  forward.layouts[Arg::kSrc] = request.LayoutOf(Arg::kDiffSrc);
  forward.layouts[Arg::kDst] = request.LayoutOf(Arg::kDiffDst);
  forward.algorithm = request.algorithm;
  return forward;
}

void CopyWorkspace(const KernelRun& forward, KernelRun& run) {
  const GuardedMemory& from = forward.memory(Arg::kWorkspace);
  const GuardedMemory& to = run.memory(Arg::kWorkspace);
  ASSERT_EQ(from.bytes(), to.bytes())
      << "backward reads a workspace of another size than forward writes";
  std::memcpy(to.data(), from.data(), from.bytes());
}

Values ReferenceResults(const KernelRequest& request, const Values& inputs,
                        const Values& forward_inputs) {
  const KernelRequest in_f64 = ReferenceRequest(request);
  KernelRun run("reference", in_f64);
  if (run.kernel() == nullptr) {
    ADD_FAILURE() << Describe("reference", in_f64) << ": " << run.refusal();
    return {};
  }
  const KernelOperand* workspace = run.kernel()->Find(Arg::kWorkspace);
  if (workspace != nullptr && workspace->direction == Direction::kIn) {
    KernelRun forward("reference", ForwardOf(in_f64));
    forward.SetInputs(forward_inputs);
    forward.Run();
    CopyWorkspace(forward, run);
  }
  run.SetInputs(inputs);
  run.Run();
  Values results;
  for (const KernelOperand& operand : run.kernel()->operands()) {
    if (operand.direction != Direction::kIn) results[operand.arg] = run.Get(operand.arg);
  }
  return results;
}

Allowance Allowance::Of(const KernelRequest& request, DataType result, double slack,
                        std::optional<DataType> sum_type) {
  const bool wide = request.execution.type == DataType::kF64;
  const double sums = UnitRoundoff(sum_type.value_or(wide ? DataType::kF64 : DataType::kF32));
  const auto length = static_cast<double>(request.op->AccumulationLength(request.execution.pass));
  if (length == 0) return {0, 0};  // copies and choices of elements are exact
  return {slack * 8 * std::sqrt(length) * sums, 2 * UnitRoundoff(result)};
}

double Allowance::At(double expected, double magnitude) const {
  if (of_sum == 0 && of_result == 0) return 0;  // (a magnitude may be infinite)
  return of_sum * std::max(std::abs(expected), std::abs(magnitude)) +
         of_result * std::abs(expected);
}

bool SameWithin(double actual, double expected, double tolerance) {
  if (std::isnan(expected)) return std::isnan(actual);
  if (std::isinf(expected)) return actual == expected;
  return std::abs(actual - expected) <= tolerance;
}

bool ExpectSame(const std::vector<double>& actual, const std::vector<double>& expected,
                const std::vector<double>& magnitude, const Allowance& allowance,
                const std::string& what) {
  EXPECT_EQ(actual.size(), expected.size()) << what;
  if (actual.size() != expected.size()) return false;
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double allowed = allowance.At(expected[i], magnitude[i]);
    if (SameWithin(actual[i], expected[i], allowed)) continue;
    if (++wrong > 3) continue;
    ADD_FAILURE() << what << "[" << i << "] is " << actual[i] << ", the reference has "
                  << expected[i] << " (difference " << actual[i] - expected[i] << ", allowed "
                  << allowed << ")";
  }
  EXPECT_EQ(wrong, 0u) << what << ": number of elements that differ, of " << actual.size();
  return wrong == 0;
}

namespace {

// `inputs`, and the sources and results of `forward` that a backward pass reads when it recomputes.
Values WithSavedBy(const KernelRun& forward, const KernelRequest& request, Values inputs) {
  for (const Operand& operand : request.op->Operands(Recomputing(request.execution))) {
    if (operand.direction != Direction::kOut && forward.kernel()->Find(operand.arg) != nullptr) {
      inputs[operand.arg] = forward.Get(operand.arg);
    }
  }
  return inputs;
}

}  // namespace

bool OneDnnHasBf16() {
  const std::string isa = onednn::IsaOf("gemm:jit");
  return isa.empty() || isa == "avx512";  // (empty outside of x86)
}

Verdict CheckAgainstReference(const std::string& backend, const KernelRequest& request,
                              std::uint64_t seed, const CheckOptions& options,
                              std::string* implementation) {
  SCOPED_TRACE(Describe(backend, request) + " seed " + std::to_string(seed));
  Values inputs = RandomInputs(*request.op, request.execution, seed);
  for (const auto& [arg, values] : options.inputs) inputs[arg] = values;

  // A backward pass with a workspace starts with forward, in the layouts of the gradients.
  KernelRequest settled = request;
  std::optional<KernelRun> forward;
  Values forward_inputs;
  const auto workspace = request.op->Find(request.execution, Arg::kWorkspace);
  if (workspace && workspace->direction == Direction::kIn) {
    const KernelRequest forward_request = ForwardOf(request);
    forward.emplace(backend, forward_request);
    if (forward->kernel() == nullptr) {
      if (!options.may_refuse) ADD_FAILURE() << forward->refusal();
      return Verdict::kRefused;
    }
    forward_inputs = RandomInputs(*request.op, forward_request.execution, seed + 1);
    // Both passes read the same tensor.
    for (auto& [arg, values] : forward_inputs) {
      if (inputs.contains(arg)) values = inputs.at(arg);
    }
    forward->SetInputs(forward_inputs);
    for (auto& [arg, values] : forward_inputs) values = forward->Get(arg);
    forward->Run();
    if (forward->kernel()->Find(Arg::kWorkspace) != nullptr) {
      settled.layouts[Arg::kWorkspace] = forward->DescOf(Arg::kWorkspace).layout;
    } else {
      inputs = WithSavedBy(*forward, request, std::move(inputs));
      settled.execution.recomputes = true;
      forward.reset();
    }
  }

  KernelRun run(backend, settled);
  if (run.kernel() == nullptr) {
    if (!options.may_refuse) ADD_FAILURE() << run.refusal();
    return Verdict::kRefused;
  }
  if (implementation != nullptr) *implementation = run.kernel()->implementation();
  for (const KernelOperand& operand : run.kernel()->operands()) {
    const auto found = inputs.find(operand.arg);
    if (operand.direction == Direction::kOut || found == inputs.end()) continue;
    run.Set(operand.arg, found->second);
    // The values that the kernel reads, after rounding to its type.
    found->second = run.Get(operand.arg);
  }
  if (forward) CopyWorkspace(*forward, run);
  run.Run();
  for (const KernelOperand& operand : run.kernel()->operands()) {
    if (operand.direction != Direction::kIn) continue;
    const auto found = inputs.find(operand.arg);
    if (found != inputs.end()) {
      // Compares bits, because inputs may contain NaN.
      const std::vector<double> after = run.Get(operand.arg);
      EXPECT_EQ(std::memcmp(after.data(), found->second.data(), after.size() * sizeof(double)), 0)
          << "the kernel changed its input " << NameOf(operand.arg);
    }
  }

  const Values expected = ReferenceResults(request, inputs, forward_inputs);
  Values magnitudes = ReferenceResults(WithoutBound(request), Magnitudes(inputs), forward_inputs);
  for (const auto& [arg, values] : options.magnitudes) magnitudes[arg] = values;
  const auto compare = [&](const std::string& which) {
    bool same = true;
    for (const auto& [arg, values] : expected) {
      const KernelOperand* operand = run.kernel()->Find(arg);
      if (operand == nullptr && arg == Arg::kWorkspace &&
          request.op->MayRecompute(request.execution)) {
        continue;
      }
      if (operand == nullptr) {
        ADD_FAILURE() << "the kernel has no " << NameOf(arg);
        same = false;
        continue;
      }
      // Each backend has its own form of a workspace. The backward pass checks its content.
      if (arg == Arg::kWorkspace || operand->desc.layout.is_opaque()) continue;
      same &=
          ExpectSame(run.Get(arg), values, magnitudes.at(arg),
                     Allowance::Of(request, operand->desc.type, options.slack, options.sum_type),
                     NameOf(arg) + which);
    }
    return same;
  };
  bool agrees = compare("");
  // A second run over the results of the first. Operands that the kernel reads and writes have
  // their initial values again.
  for (const KernelOperand& operand : run.kernel()->operands()) {
    const auto found = inputs.find(operand.arg);
    if (operand.direction == Direction::kInOut && found != inputs.end()) {
      run.Set(operand.arg, found->second);
    }
  }
  run.RunAgain();
  agrees &= compare(" of the second run");
  CountCase("randomised");
  return agrees ? Verdict::kAgrees : Verdict::kDiffers;
}

}  // namespace topdnn
