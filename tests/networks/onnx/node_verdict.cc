#include "tests/networks/onnx/node_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "kernels/check/tolerance.h"
#include "kernels/kernel/native.h"
#include "kernels/kernel/registry.h"
#include "networks/parameters/parameter_values.h"
#include "networks/planning/planner.h"

namespace topdnn {

namespace {

// The reason why the translated operands do not match the kernel's; empty when they do.
std::string Unbound(const Kernel& kernel, const NodeRun& run) {
  for (const KernelOperand& operand : kernel.operands()) {
    const Values& values = operand.direction == Direction::kOut ? run.expected : run.inputs;
    const auto found = values.find(operand.arg);
    const auto elements = static_cast<std::size_t>(operand.desc.shape.elements());
    if (found == values.end() && operand.direction != Direction::kOut) {
      return NameOf(operand.arg) + " has no values";
    }
    if (found != values.end() && found->second.size() != elements) {
      return fmt::format("{} has {} elements, but the case has {}", NameOf(operand.arg), elements,
                         found->second.size());
    }
  }
  for (const auto& [arg, values] : run.expected) {
    const KernelOperand* operand = kernel.Find(arg);
    if (operand == nullptr || operand->direction == Direction::kIn) {
      return "the kernel does not compute " + NameOf(arg);
    }
  }
  return {};
}

}  // namespace

NodeOutcome Compare(std::span<const double> actual, std::span<const double> expected,
                    double tolerance) {
  if (RelativeError(actual, expected) <= tolerance) return {NodeVerdict::kWithinTolerance, ""};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double allowed = kOnnxAbsolute + kOnnxRelative * std::abs(expected[i]);
    if (!SameWithin(actual[i], expected[i], allowed)) {
      return {NodeVerdict::kDiffers, fmt::format("[{}] is {}, ONNX has {} (allowed {})", i,
                                                 actual[i], expected[i], allowed)};
    }
  }
  return {NodeVerdict::kWithinOnnx, ""};
}

NodeOutcome RunOn(const std::string& backend, const NodeRun& run, DataType type) {
  Execution execution = run.execution;
  execution.type = type;
  const KernelRequest request = RequestFor(run.op, execution, 2);
  KernelRun kernel(ServingBackend(backend, request), request);
  if (kernel.kernel() == nullptr) return {NodeVerdict::kRefused, kernel.refusal()};
  const std::string what = fmt::format("{}/{}: ", run.op->kind(), run.op->Problem());
  if (const std::string why = Unbound(*kernel.kernel(), run); !why.empty()) {
    return {NodeVerdict::kDiffers, what + why};
  }
  kernel.SetInputs(run.inputs);
  kernel.Run();
  NodeOutcome worst{NodeVerdict::kWithinTolerance, ""};
  for (const auto& [arg, expected] : run.expected) {
    const NodeOutcome outcome =
        Compare(kernel.Get(arg), expected, Tolerance(*run.op, run.execution));
    if (outcome.verdict == NodeVerdict::kDiffers) {
      return {outcome.verdict, what + NameOf(arg) + outcome.why};
    }
    if (outcome.verdict == NodeVerdict::kWithinOnnx) worst = outcome;
  }
  return worst;
}

bool HasKernel(const std::string& backend, const Op& op) {
  const auto all = RegisteredKernels();
  return std::ranges::any_of(WithNative(backend), [&](const std::string& serving) {
    return std::ranges::find(all, std::pair{std::string(op.kind()), serving}) != all.end();
  });
}

ImportedCase::ImportedCase(const NodeCase& node, std::size_t output)
    : node_(node), output_(output) {
  try {
    network_ = ImportOnnx(node.models.at(output), {});
  } catch (const OnnxError& error) {
    refusal_ = error.what();
  }
}

NodeOutcome ImportedCase::RunOn(const std::string& backend, DataType type) const {
  PlanRequest request;
  request.backend = backend;
  request.type = type;
  request.training = false;
  request.threads = 2;
  request.fallback = {"reference"};
  const auto plan = MakePlan(network_->graph, request);
  double tolerance = 0;
  const std::vector<std::string> backends = WithNative(backend);
  for (const Stage& stage : plan->stages()) {
    if (stage.pass == StagePass::kReorder) continue;
    if (std::ranges::find(backends, stage.backend) == backends.end()) {
      return {NodeVerdict::kRefused, fmt::format("{} runs on {}", stage.name, stage.backend)};
    }
    tolerance = std::max(tolerance, Tolerance(*stage.op, {Pass::kForward, false, DataType::kF32}));
  }
  plan->Allocate();
  WriteParameters(*plan, network_->parameters);
  plan->Write(plan->Find(BufferRole::kInput), node_.Input(0)->values);
  plan->Run();
  const OnnxTensor& expected = *node_.Output(output_);
  std::vector<double> actual = plan->Read(plan->Find(BufferRole::kOutput));
  if (network_->outputs.front().type == DataType::kF16) {  // as `topdnn run` writes it
    const Tensor half(Shape{static_cast<std::int64_t>(actual.size())}, DataType::kF16);
    FromDouble(actual, half.desc(), half.data());
    actual = ToDouble(half.desc(), half.data());
    tolerance = std::max(tolerance, 2 * UnitRoundoff(DataType::kF16));
  }
  if (network_->outputs.front().shape != expected.shape ||
      actual.size() != expected.values.size()) {
    return {NodeVerdict::kDiffers,
            fmt::format("the output is {}, ONNX has {}", network_->outputs.front().shape.ToString(),
                        expected.shape.ToString())};
  }
  return Compare(actual, expected.values, tolerance);
}

}  // namespace topdnn
