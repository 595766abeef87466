#include "networks/planning/planner.h"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <variant>

#include "kernels/kernel/native.h"
#include "networks/planning/framework_op.h"
#include "networks/planning/plan_draft.h"
#include "networks/planning/plan_parameters.h"
#include "networks/planning/plan_steps.h"

namespace topdnn {

namespace {

// The reason why the backend that has a kernel for `op` has none for `fused`; nothing when it has
// one.
std::optional<std::string> FusionRefusal(const PlanDraft& draft,
                                         const std::shared_ptr<const Op>& op,
                                         const std::shared_ptr<const Op>& fused) {
  const Execution execution = draft.ExecutionOf(Pass::kForward);
  std::string reason;
  for (const std::string& backend : draft.Backends()) {
    // (topdnn's own code follows the library that it helps out)
    if (!reason.empty() && backend != kNative) break;
    KernelOrRefusal offer = draft.Ask(backend, fused, execution, {});
    auto* refusal = std::get_if<Refusal>(&offer);
    if (refusal == nullptr) return std::nullopt;
    // A backend without the layer itself does not compute it, so its refusal does not count.
    if (!reason.empty() || std::holds_alternative<Refusal>(draft.Ask(backend, op, execution, {}))) {
      continue;
    }
    reason = std::move(refusal->reason);
  }
  return reason.empty() ? "no backend has a kernel for the layer itself" : reason;
}

void CheckMemory(const Plan& plan, std::size_t limit) {
  if (limit == 0 || plan.bytes() <= limit) return;
  constexpr double kGiB = 1 << 30;
  throw PlanError(fmt::format(
      "{} needs {:.2f} GiB, but {:.2f} GiB may be used: take a smaller --batch", plan.network(),
      static_cast<double>(plan.bytes()) / kGiB, static_cast<double>(limit) / kGiB));
}

}  // namespace

std::unique_ptr<Plan> MakePlan(const Graph& graph, const PlanRequest& request) {
  PlanDraft draft(graph, request);
  draft.fused = FuseGraph(graph, request, [&](const auto& op, const auto& fused) {
    return FusionRefusal(draft, op, fused);
  });
  const std::vector<ValueId> outputs = graph.outputs();
  for (const ValueId output : outputs) {
    if (!graph.IsInput(draft.AliasOf(output))) continue;
    throw PlanError(graph.name() + " has no layer that computes: give a network with one");
  }
  if (request.training && outputs.size() > 1) {
    throw PlanError(
        fmt::format("{} has {} outputs, and training needs one: choose it by "
                    "--onnx-output, or give --infer",
                    graph.name(), outputs.size()));
  }
  PlanForward(draft);
  if (request.training) {
    PlanLoss(draft);
    PlanBackward(draft);
  }
  if (request.rules == nullptr && request.fuse) DropCopiesOfConcats(draft);
  ParameterPlanner parameters(draft);
  parameters.Settle();
  if (request.training) parameters.PlanUpdates();
  PlanContents contents;
  contents.stages = parameters.Bind();
  if (request.rules != nullptr) NameFrameworkOps(contents.stages, *request.rules);
  contents.network = graph.name();
  contents.threads = request.threads;
  for (ValueId input = 0; input < graph.inputs(); ++input) {
    contents.inputs.push_back(draft.activations[input].front());
  }
  for (const ValueId output : outputs) {
    contents.outputs.push_back(draft.activations[draft.AliasOf(output)].front());
  }
  contents.buffers = std::move(draft.buffers);
  contents.parameters = parameters.TakeParameters();
  contents.statistics = std::move(draft.statistics);
  contents.prepared = parameters.TakePrepared();
  contents.dropped = std::move(draft.fused.dropped);
  auto plan = std::make_unique<Plan>(std::move(contents));
  CheckMemory(*plan, request.memory_limit);
  return plan;
}

}  // namespace topdnn
