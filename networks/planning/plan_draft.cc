#include "networks/planning/plan_draft.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/kernel/native.h"
#include "kernels/kernel/registry.h"
#include "kernels/kernel/variant.h"
#include "kernels/reorder/reorder.h"

namespace topdnn {

bool IsParameter(const Op& op, Arg arg) {
  const auto parameters = op.Parameters();
  return std::any_of(parameters.begin(), parameters.end(),
                     [arg](const Parameter& parameter) { return parameter.arg == arg; });
}

std::optional<Arg> ParameterOfGradient(const Op& op, Arg gradient) {
  for (const Parameter& parameter : op.Parameters()) {
    if (parameter.gradient == gradient) return parameter.arg;
  }
  return std::nullopt;
}

Stage MakeStage(std::string name, StagePass pass, std::shared_ptr<const Op> op,
                const Execution& execution, Offered offered, std::map<Arg, BufferId> buffers) {
  Stage stage;
  stage.name = std::move(name);
  stage.pass = pass;
  stage.op = std::move(op);
  stage.execution = execution;
  stage.backend = std::move(offered.backend);
  stage.variant = std::move(offered.variant);
  stage.kernel = std::move(offered.kernel);
  stage.request = std::move(offered.request);
  stage.buffers = std::move(buffers);
  return stage;
}

DataType PlanDraft::ParameterType() const {
  return request.type == DataType::kF64 ? DataType::kF64 : DataType::kF32;
}

std::vector<std::string> PlanDraft::Backends() const {
  std::vector<std::string> backends = WithNative(request.backend);
  for (const std::string& fallback : request.fallback) {
    for (const std::string& backend : WithNative(fallback)) {
      if (std::ranges::find(backends, backend) == backends.end()) backends.push_back(backend);
    }
  }
  return backends;
}

std::vector<std::string> PlanDraft::BackendsOf(const Op& op) const {
  std::vector<std::string> backends = Backends();
  if (request.rules != nullptr && request.rules->RunsOnEigen(op.kind())) {
    backends.insert(backends.begin(), "eigen");
  }
  return backends;
}

LayoutPreferences PlanDraft::ByRules(const Op& op, const Execution& execution,
                                     LayoutPreferences preferences) const {
  if (request.rules == nullptr || !request.rules->channels_last) return preferences;
  if (op.Traits().layout_policy != LayoutPolicy::kChooses) return preferences;
  preferences.preferred.clear();
  for (const Operand& operand : op.Operands(execution)) {
    const Layout layout = RequiredLayout(op, operand, execution.training);
    if (!layout.is_any()) preferences.required.insert({operand.arg, layout});
  }
  return preferences;
}

KernelOrRefusal PlanDraft::Ask(const std::string& backend, const std::shared_ptr<const Op>& op,
                               const Execution& execution, const Layouts& layouts) const {
  return MakeKernel(backend, {op, execution, request.threads, layouts, ""});
}

void PlanDraft::Refuse(const std::string& layer, const Op& op,
                       const std::optional<Refusal>& why) const {
  throw PlanError(
      fmt::format("layer {} ({} {}) cannot run on {}: {}; choose another backend or --fallback",
                  layer, op.kind(), op.Problem(), request.backend,
                  why ? why->reason : "the request names no backend"));
}

Offered PlanDraft::RequireKernel(const std::string& layer, const std::shared_ptr<const Op>& op,
                                 const Execution& execution) const {
  return Choose(layer, op, execution, {});
}

std::optional<Offered> PlanDraft::ChooseOn(const std::string& backend, const KernelRequest& request,
                                           const LayoutPreferences& preferences,
                                           std::optional<Refusal>& why) {
  const auto ask = [&](const Layouts& preferred) -> std::optional<Offered> {
    KernelRequest asked = request;
    for (const auto& [arg, layout] : preferred) asked.layouts[arg] = layout;
    for (const auto& [arg, layout] : preferences.required) asked.layouts[arg] = layout;
    KernelOrRefusal offer = MakeKernel(backend, asked);
    if (auto* kernel = std::get_if<std::unique_ptr<Kernel>>(&offer)) {
      return Offered{std::move(*kernel), backend, backend, "", std::move(asked)};
    }
    if (!why) why = std::get<Refusal>(std::move(offer));
    return std::nullopt;
  };
  const bool chooses = request.op->Traits().layout_policy == LayoutPolicy::kChooses;
  std::optional<Offered> own;
  if (chooses) own = ask({});
  for (const Layouts& preferred : preferences.preferred) {
    auto offered = ask(preferred);
    if (!offered) continue;
    if (!own || offered->kernel->implementation() == own->kernel->implementation()) {
      return offered;
    }
  }
  if (!own && !chooses) own = ask({});
  return own;
}

std::optional<Offered> PlanDraft::ChooseVariant(const LayerPass& layer,
                                                const std::shared_ptr<const Op>& op,
                                                const Execution& execution,
                                                const LayoutPreferences& preferences) const {
  const auto wanted = request.variants.find(layer);
  if (wanted == request.variants.end()) return std::nullopt;
  for (const std::string& name : wanted->second) {
    const std::optional<Variant> variant = FindVariant(name);
    if (!variant) continue;
    const std::string& workspaces = WorkspacesOf(*variant);
    if (!preferences.backend.empty() && workspaces != preferences.backend) continue;
    const auto asked = RequestOf(*variant, op, execution, request.threads);
    if (!asked) continue;
    std::optional<Refusal> why;
    if (auto offered = ChooseOn(variant->backend, *asked, preferences, why)) {
      offered->variant = name;
      offered->workspaces = workspaces;
      return offered;
    }
  }
  return std::nullopt;
}

Offered PlanDraft::Choose(const std::string& layer, const std::shared_ptr<const Op>& op,
                          const Execution& execution, const LayoutPreferences& preferences) const {
  if (auto offered = ChooseVariant({layer, execution.pass}, op, execution, preferences)) {
    return *std::move(offered);
  }
  std::optional<Refusal> why;
  const LayoutPreferences ruled = ByRules(*op, execution, preferences);
  for (const std::string& backend : BackendsOf(*op)) {
    if (!preferences.backend.empty() && backend != preferences.backend) continue;
    if (auto offered = ChooseOn(backend, {op, execution, request.threads, {}, ""}, ruled, why)) {
      return *std::move(offered);
    }
  }
  Refuse(layer, *op, why);
}

BufferId PlanDraft::NewBuffer(std::string name, TensorDesc desc, BufferRole role, bool persistent) {
  buffers.push_back({std::move(name), std::move(desc), role, persistent, -1, 0, 0.0});
  return static_cast<BufferId>(buffers.size()) - 1;
}

BufferId PlanDraft::NewStatistic(int node, Arg arg, const TensorDesc& desc) {
  const std::string& layer = NodeAt(node).name;
  const BufferId buffer =
      NewBuffer(fmt::format("{}.running_{}", layer, NameOf(arg)), desc, BufferRole::kState, true);
  if (arg == Arg::kVariance) buffers[buffer].initial = 1.0;
  statistics.push_back({layer, NameOf(arg), buffer});
  return buffer;
}

void PlanDraft::AddStage(int node, Stage stage, std::set<Arg> parameters) {
  stages.push_back({std::move(stage), node, std::move(parameters)});
}

BufferId PlanDraft::RequireLayout(Copies& copies, const TensorDesc& desc, const std::string& name) {
  for (const BufferId copy : copies) {
    if (DescOf(copy) == desc) return copy;
  }
  const Buffer original = buffers[copies.front()];
  const BufferRole role =
      original.role == BufferRole::kGradient ? BufferRole::kGradient : BufferRole::kActivation;
  const BufferId copy = NewBuffer(name, desc, role);
  AddStage(-1, ReorderStage(name, copies.front(), copy));
  copies.push_back(copy);
  return copy;
}

Stage PlanDraft::ReorderStage(const std::string& name, BufferId from, BufferId to) const {
  const TensorDesc& src = DescOf(from);
  const TensorDesc& dst = DescOf(to);
  auto op = std::make_shared<ReorderOp>(src.shape, src.type, dst.type);
  const Execution execution = ExecutionOf(Pass::kForward);
  const Layouts layouts = {{Arg::kSrc, src.layout}, {Arg::kDst, dst.layout}};
  std::string reasons;
  std::vector<std::string> backends = WithNative(request.backend);
  backends.insert(backends.end(), {"onednn", "reference"});
  for (const std::string& backend : backends) {
    KernelRequest asked = {op, execution, request.threads, layouts, ""};
    KernelOrRefusal offer = MakeKernel(backend, asked);
    if (auto* kernel = std::get_if<std::unique_ptr<Kernel>>(&offer)) {
      return MakeStage(name, StagePass::kReorder, op, execution,
                       {std::move(*kernel), backend, backend, "", std::move(asked)},
                       {{Arg::kSrc, from}, {Arg::kDst, to}});
    }
    reasons += (reasons.empty() ? "" : "; ") + std::get<Refusal>(offer).reason;
  }
  throw PlanError(fmt::format("{}: no reorder from {} to {}: {}", name, src.layout.tag(),
                              dst.layout.tag(), reasons));
}

}  // namespace topdnn
