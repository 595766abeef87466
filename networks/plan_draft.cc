#include "networks/plan_draft.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/registry.h"
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
                const Execution& execution, Offered offered) {
  Stage stage;
  stage.name = std::move(name);
  stage.pass = pass;
  stage.op = std::move(op);
  stage.execution = execution;
  stage.backend = std::move(offered.backend);
  stage.kernel = std::move(offered.kernel);
  return stage;
}

std::variant<Offered, Refusal> PlanDraft::TryOffer(const std::shared_ptr<const Op>& op,
                                                   const Execution& execution,
                                                   const Layouts& layouts) const {
  KernelRequest kernel_request{op, execution, request.threads, layouts, ""};
  std::vector<std::string> backends = {request.backend};
  backends.insert(backends.end(), request.fallback.begin(), request.fallback.end());
  std::optional<Refusal> first;
  for (const std::string& backend : backends) {
    KernelOrRefusal offer = MakeKernel(backend, kernel_request);
    if (auto* kernel = std::get_if<std::unique_ptr<Kernel>>(&offer)) {
      return Offered{std::move(*kernel), backend};
    }
    if (!first) first = std::get<Refusal>(std::move(offer));
  }
  return *std::move(first);
}

Offered PlanDraft::Demand(const std::string& layer, const std::shared_ptr<const Op>& op,
                          const Execution& execution, const Layouts& layouts) const {
  auto offer = TryOffer(op, execution, layouts);
  if (auto* refusal = std::get_if<Refusal>(&offer)) {
    throw PlanError(
        fmt::format("layer {} ({} {}) cannot run on {}: {}; choose another backend or "
                    "--fallback",
                    layer, op->kind(), op->Problem(), request.backend, refusal->reason));
  }
  return std::get<Offered>(std::move(offer));
}

Offered PlanDraft::Choose(const std::string& layer, const std::shared_ptr<const Op>& op,
                          const Execution& execution,
                          const std::vector<Layouts>& preferences) const {
  const bool chooses = op->layout_preference() == LayoutPreference::kChooses;
  std::optional<Offered> own;
  if (chooses) own = Demand(layer, op, execution, {});
  for (const Layouts& preferred : preferences) {
    auto answer = TryOffer(op, execution, preferred);
    auto* offered = std::get_if<Offered>(&answer);
    if (offered == nullptr) continue;
    const bool as_good =
        !chooses || (offered->backend == own->backend &&
                     offered->kernel->implementation() == own->kernel->implementation());
    if (as_good) return std::move(*offered);
  }
  return own ? std::move(*own) : Demand(layer, op, execution, {});
}

BufferId PlanDraft::NewBuffer(std::string name, TensorDesc desc, BufferRole role, bool persistent) {
  buffers.push_back({std::move(name), std::move(desc), role, persistent, -1, 0, 0.0});
  return static_cast<BufferId>(buffers.size()) - 1;
}

BufferId PlanDraft::Require(Copies& copies, const TensorDesc& desc, const std::string& name) {
  for (const BufferId copy : copies) {
    if (DescOf(copy) == desc) return copy;
  }
  const Buffer original = buffers[copies.front()];
  const BufferId copy = NewBuffer(name, desc, original.role);
  StageDraft draft;
  draft.stage = ReorderStage(name, copies.front(), copy);
  stages.push_back(std::move(draft));
  copies.push_back(copy);
  return copy;
}

Stage PlanDraft::ReorderStage(const std::string& name, BufferId from, BufferId to) const {
  const TensorDesc& src = DescOf(from);
  const TensorDesc& dst = DescOf(to);
  auto op = std::make_shared<ReorderOp>(src.shape, src.type, dst.type);
  const Execution execution = ExecutionOf(Pass::kForward);
  const KernelRequest kernel_request{
      op, execution, request.threads, {{Arg::kSrc, src.layout}, {Arg::kDst, dst.layout}}, ""};
  std::string reasons;
  for (const std::string& backend :
       {request.backend, std::string("onednn"), std::string("reference")}) {
    KernelOrRefusal offer = MakeKernel(backend, kernel_request);
    if (auto* kernel = std::get_if<std::unique_ptr<Kernel>>(&offer)) {
      Stage stage =
          MakeStage(name, StagePass::kReorder, op, execution, {std::move(*kernel), backend});
      stage.buffers = {{Arg::kSrc, from}, {Arg::kDst, to}};
      return stage;
    }
    reasons += (reasons.empty() ? "" : "; ") + std::get<Refusal>(offer).reason;
  }
  throw PlanError(fmt::format("{}: no reorder from {} to {}: {}", name, src.layout.tag(),
                              dst.layout.tag(), reasons));
}

}  // namespace topdnn
