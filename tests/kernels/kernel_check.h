// Holds a backend's kernel to the reference: seeded random operands in the kernel's own types and
// layouts, guarded memory, one run at the request's width, and every result compared with the
// reference's, computed in f64 from the very same (already rounded) inputs.
//
//   CheckAgainstReference("onednn", RequestFor(op, {Pass::kForward}, 2), seed);
//
// A difference, a refusal where the caller expected none or a write outside an operand is a gtest
// failure that names operation, problem, pass and element.

#ifndef TOPDNN_TESTS_KERNELS_KERNEL_CHECK_H_
#define TOPDNN_TESTS_KERNELS_KERNEL_CHECK_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "kernels/element.h"
#include "kernels/kernel.h"
#include "kernels/random_inputs.h"
#include "kernels/registry.h"
#include "kernels/reorder/store.h"
#include "kernels/tensor.h"
#include "kernels/thread_width.h"
#include "tests/kernels/case_count.h"

namespace topdnn {

// Memory with a pattern on both sides that a kernel must leave alone.
class GuardedMemory {
 public:
  GuardedMemory() = default;
  explicit GuardedMemory(std::size_t bytes) : bytes_(bytes), memory_(bytes + 2 * kGuard) {
    std::memset(memory_.data(), kPattern, kGuard);
    std::memset(memory_.data() + kGuard + bytes_, kPattern, kGuard);
  }

  std::byte* data() const { return memory_.data() + kGuard; }
  std::size_t bytes() const { return bytes_; }
  bool Intact() const {
    const auto untouched = [](std::byte b) { return b == std::byte{kPattern}; };
    return std::all_of(memory_.data(), memory_.data() + kGuard, untouched) &&
           std::all_of(data() + bytes_, data() + bytes_ + kGuard, untouched);
  }

 private:
  static constexpr std::size_t kGuard = 256;  // keeps the operand on a cache line boundary
  static constexpr unsigned char kPattern = 0xa5;
  std::size_t bytes_ = 0;
  AlignedMemory memory_;
};

// A kernel with guarded memory of its own for every operand.
class KernelRun {
 public:
  KernelRun(const std::string& backend, const KernelRequest& request)
      : backend_(backend), request_(request), answer_(MakeKernel(backend, request)) {
    if (!kernel()) return;
    for (const KernelOperand& operand : kernel()->operands()) {
      memory_.emplace(operand.arg, GuardedMemory(operand.desc.bytes()));
    }
  }

  // nullptr when the backend refused.
  Kernel* kernel() const {
    const auto* made = std::get_if<std::unique_ptr<Kernel>>(&answer_);
    return made != nullptr ? made->get() : nullptr;
  }
  // Why there is no kernel.
  std::string refusal() const {
    const auto* refused = std::get_if<Refusal>(&answer_);
    return refused != nullptr ? refused->reason : "";
  }

  const TensorDesc& DescOf(Arg arg) const { return kernel()->Find(arg)->desc; }
  void Set(Arg arg, const std::vector<double>& values) {
    StoreValues(values, DescOf(arg), memory_.at(arg).data(), backend_);
    // An opaque layout may have no way back (oneDNN's int8 weights); what was stored is then known
    // from the values alone, which the caller gives in the operand's type.
    if (DescOf(arg).layout.is_opaque()) stored_[arg] = values;
  }
  std::vector<double> Get(Arg arg) const {
    const auto stored = stored_.find(arg);
    if (stored != stored_.end()) return stored->second;
    return LoadValues(DescOf(arg), memory_.at(arg).data(), backend_);
  }
  const GuardedMemory& memory(Arg arg) const { return memory_.at(arg); }
  // Makes two operands one piece of memory (they must have the same descriptor).
  void Alias(Arg arg, Arg of) { aliases_[arg] = of; }

  // Sets every input of `values` that the kernel has.
  void SetInputs(const Values& values) {
    for (const KernelOperand& operand : kernel()->operands()) {
      const auto found = values.find(operand.arg);
      if (operand.direction != Direction::kOut && found != values.end()) {
        Set(operand.arg, found->second);
      }
    }
  }

  void Run() {
    std::map<Arg, void*> bound;
    for (const auto& [arg, memory] : memory_) bound[arg] = memory.data();
    for (const auto& [arg, of] : aliases_) bound[arg] = memory_.at(of).data();
    kernel()->Prepare(bound);
    RunAgain();
  }
  // Without a new Prepare.
  void RunAgain() {
    const ThreadWidth width(request_.threads);
    kernel()->Run();
    for (const auto& [arg, memory] : memory_) {
      EXPECT_TRUE(memory.Intact()) << "wrote outside of " << NameOf(arg);
    }
  }

 private:
  std::string backend_;
  KernelRequest request_;
  KernelOrRefusal answer_;
  Values stored_;
  std::map<Arg, GuardedMemory> memory_;
  std::map<Arg, Arg> aliases_;
};

inline std::string Describe(const std::string& backend, const KernelRequest& request) {
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

// A request with no layout settled yet.
inline KernelRequest RequestFor(std::shared_ptr<const Op> op, const Execution& execution,
                                int threads) {
  KernelRequest request;
  request.op = std::move(op);
  request.execution = execution;
  request.threads = threads;
  return request;
}

// The same request for the reference in f64, row-major.
inline KernelRequest ReferenceRequest(const KernelRequest& request) {
  Execution in_f64 = request.execution;
  in_f64.type = DataType::kF64;
  return RequestFor(request.op, in_f64, 1);
}

// The forward request in training whose workspace the backward `request` reads.
inline KernelRequest ForwardOf(const KernelRequest& request) {
  KernelRequest forward =
      RequestFor(request.op, {Pass::kForward, true, request.execution.type}, request.threads);
  forward.layouts[Arg::kSrc] = request.LayoutOf(Arg::kDiffSrc);
  forward.layouts[Arg::kDst] = request.LayoutOf(Arg::kDiffDst);
  return forward;
}

// Gives `run` the workspace that the same backend's forward pass leaves.
inline void CopyWorkspace(const KernelRun& forward, KernelRun& run) {
  const GuardedMemory& from = forward.memory(Arg::kWorkspace);
  const GuardedMemory& to = run.memory(Arg::kWorkspace);
  ASSERT_EQ(from.bytes(), to.bytes()) << "backward reads another workspace than forward writes";
  std::memcpy(to.data(), from.data(), from.bytes());
}

// Every result of the reference in f64 on `inputs` (and, for a pass that reads a workspace, on the
// one that forward leaves for `forward_inputs`).
inline Values ReferenceResults(const KernelRequest& request, const Values& inputs,
                               const Values& forward_inputs = {}) {
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

// The inputs' magnitudes: the reference run on them sums |terms|, which scales rounding errors. (A
// learning rate is subtracted, so it turns negative.)
inline Values Magnitudes(Values values) {
  for (auto& [arg, of_operand] : values) {
    if (arg == Arg::kLabels || arg == Arg::kStep) continue;
    for (double& v : of_operand) v = arg == Arg::kLearningRate ? -std::abs(v) : std::abs(v);
  }
  return values;
}

// How much an element may differ: the rounding of the sum, which grows with the square root of its
// length with a probability that a factor of 8 makes overwhelming (Higham and Mary, "A new
// approach to probabilistic rounding error analysis", SIAM J. Sci. Comput. 41(5), 2019), over the
// sum of the terms' magnitudes, and the rounding of the stored result. Sums are in f32 or wider
// unless the caller knows better.
struct Allowance {
  double of_sum;
  double of_result;

  static Allowance Of(const KernelRequest& request, DataType result, double slack,
                      std::optional<DataType> sum_type) {
    const bool wide = request.execution.type == DataType::kF64;
    const double sums = UnitRoundoff(sum_type.value_or(wide ? DataType::kF64 : DataType::kF32));
    const auto length = static_cast<double>(request.op->AccumulationLength(request.execution.pass));
    return {slack * 8 * std::sqrt(length) * sums, 2 * UnitRoundoff(result)};
  }
  double At(double expected, double magnitude) const {
    return of_sum * std::max(std::abs(expected), std::abs(magnitude)) +
           of_result * std::abs(expected);
  }
};

inline bool SameWithin(double actual, double expected, double tolerance) {
  if (std::isnan(expected)) return std::isnan(actual);
  if (std::isinf(expected)) return actual == expected;
  return std::abs(actual - expected) <= tolerance;
}

inline bool ExpectSame(const std::vector<double>& actual, const std::vector<double>& expected,
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
  EXPECT_EQ(wrong, 0u) << what << ": elements that differ, of " << actual.size();
  return wrong == 0;
}

enum class Verdict { kAgrees, kRefused, kDiffers };

struct CheckOptions {
  // Multiplies the allowance for an algorithm that is less accurate by its nature (Winograd).
  double slack = 1;
  // Whether a refusal is an answer that the caller deals with.
  bool may_refuse = false;
  // Inputs that replace the random ones of their role.
  Values inputs = {};
  // Sums of |terms| of results that subtract, which the reference on absolute inputs would cancel.
  Values magnitudes = {};
  // The type that sums accumulate in, where that is narrower than f32 (oneDNN's bf16 pooling adds
  // the gradients of overlapping windows in bf16).
  std::optional<DataType> sum_type = std::nullopt;
};

// Runs the backend's kernel on random inputs and compares every result with the reference's.
// `implementation`, when given, gets the name of what ran.
inline Verdict CheckAgainstReference(const std::string& backend, const KernelRequest& request,
                                     std::uint64_t seed, const CheckOptions& options = {},
                                     std::string* implementation = nullptr) {
  SCOPED_TRACE(Describe(backend, request) + " seed " + std::to_string(seed));
  Values inputs = RandomInputs(*request.op, request.execution, seed);
  for (const auto& [arg, values] : options.inputs) inputs[arg] = values;

  // Backward by a workspace starts with forward, on the layouts of the gradients.
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
    // What both passes read is one tensor.
    for (auto& [arg, values] : forward_inputs) {
      if (inputs.contains(arg)) values = inputs.at(arg);
    }
    forward->SetInputs(forward_inputs);
    for (auto& [arg, values] : forward_inputs) values = forward->Get(arg);
    forward->Run();
    settled.layouts[Arg::kWorkspace] = forward->DescOf(Arg::kWorkspace).layout;
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
    // What the kernel really reads, after rounding to its type.
    found->second = run.Get(operand.arg);
  }
  if (forward) CopyWorkspace(*forward, run);
  run.Run();
  for (const KernelOperand& operand : run.kernel()->operands()) {
    if (operand.direction != Direction::kIn) continue;
    const auto found = inputs.find(operand.arg);
    if (found != inputs.end()) {
      // By bits: inputs may hold NaN.
      const std::vector<double> after = run.Get(operand.arg);
      EXPECT_EQ(std::memcmp(after.data(), found->second.data(), after.size() * sizeof(double)), 0)
          << "the kernel changed its input " << NameOf(operand.arg);
    }
  }

  const Values expected = ReferenceResults(request, inputs, forward_inputs);
  Values magnitudes = ReferenceResults(request, Magnitudes(inputs), forward_inputs);
  for (const auto& [arg, values] : options.magnitudes) magnitudes[arg] = values;
  bool agrees = true;
  for (const auto& [arg, values] : expected) {
    const KernelOperand* operand = run.kernel()->Find(arg);
    if (operand == nullptr) {
      ADD_FAILURE() << "the kernel has no " << NameOf(arg);
      agrees = false;
      continue;
    }
    // The form of a workspace is the backend's own; backward shows what it is worth.
    if (arg == Arg::kWorkspace || operand->desc.layout.is_opaque()) continue;
    agrees &= ExpectSame(
        run.Get(arg), values, magnitudes.at(arg),
        Allowance::Of(request, operand->desc.type, options.slack, options.sum_type), NameOf(arg));
  }
  CountCase("randomised");
  return agrees ? Verdict::kAgrees : Verdict::kDiffers;
}

}  // namespace topdnn

#endif  // TOPDNN_TESTS_KERNELS_KERNEL_CHECK_H_
