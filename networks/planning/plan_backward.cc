#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/activation/relu.h"
#include "kernels/eltwise/add.h"
#include "kernels/pool/pool.h"
#include "networks/planning/plan_steps.h"

namespace topdnn {

namespace {

class BackwardPlanner {
 public:
  explicit BackwardPlanner(PlanDraft& draft)
      : draft_(draft),
        parts_(draft.graph.values().size()),
        needed_(draft.graph.values().size()),
        readers_(draft.graph.values().size()),
        units_(draft.graph.values().size()) {
    for (const ForwardUnit& unit : draft.fused.units) {
      for (const ValueId source : unit.sources) ++readers_[source];
      if (unit.sum) ++readers_[*unit.sum];
      units_[unit.result] = &unit;
    }
  }

  void Plan() {
    MarkNeeded();
    const ValueId output = draft_.AliasOf(draft_.graph.output());
    AddGradientPart(output, draft_.gradients[output].front());
    const auto& units = draft_.fused.units;
    for (auto unit = units.rbegin(); unit != units.rend(); ++unit) {
      for (const BackwardOp& step : BackwardOps(draft_.graph, draft_.fused, *unit)) {
        PlanStep(*unit, step);
      }
    }
  }

 private:
  // Whether training changes parameters of the operation. Those of an operation without a backward
  // pass are constants.
  bool IsTrained(const Op& op) const {
    return !op.Parameters().empty() && (op.Has(draft_.ExecutionOf(Pass::kBackwardData)) ||
                                        op.Has(draft_.ExecutionOf(Pass::kBackwardWeights)));
  }

  // Marks the values whose gradient is needed: those that depend on a trained parameter.
  void MarkNeeded() {
    for (const GraphNode& node : draft_.graph.nodes()) {
      const bool needed =
          IsTrained(*node.op) || std::any_of(node.inputs.begin(), node.inputs.end(),
                                             [this](ValueId input) { return needed_[input]; });
      needed_[node.output] = needed;
    }
  }

  void AddGradientPart(ValueId value, BufferId gradient) {
    parts_[value].push_back(gradient);
    ++pending_[gradient];
  }

  void PlanStep(const ForwardUnit& unit, const BackwardOp& step) {
    if (parts_[step.result].empty() || !needed_[step.result]) return;
    SumGradients(step.result, unit.result);
    PlanReluOfMaximum(unit, step);
    const BufferId gradient = draft_.gradients[step.result].front();
    const bool wants_sources = std::any_of(step.sources.begin(), step.sources.end(),
                                           [this](ValueId v) { return needed_[v]; });
    const Op& op = *step.op;
    const bool has_weights_pass = op.Has(draft_.ExecutionOf(Pass::kBackwardWeights));
    // The parameter gradients of a batch normalization are computed together with that of its
    // source.
    const bool wants_data = wants_sources || (!op.Parameters().empty() && !has_weights_pass);
    // The pass by weights comes first, so that the gradient of the source, which the next stage
    // reads, is still in the caches.
    if (has_weights_pass) PlanPass(unit, step, Pass::kBackwardWeights);
    if (op.Traits().passes_gradient_through || planned_relus_.contains(step.node)) {
      for (const ValueId source : step.sources) {
        if (needed_[source]) AddGradientPart(source, gradient);
      }
    } else if (wants_data) {
      if (!op.Has(draft_.ExecutionOf(Pass::kBackwardData))) {
        throw PlanError(
            fmt::format("layer {} ({}/{}) has no backward pass: use the network for "
                        "inference alone",
                        draft_.NodeAt(step.node).name, op.kind(), op.Problem()));
      }
      PlanPass(unit, step, Pass::kBackwardData);
    }
    --pending_[gradient];
  }

  // Plans the gradient of a ReLU before that of the max pooling that alone reads its result, on the
  // pooling's result, which is smaller. The maximum of a window passes the ReLU if its element did,
  // so the gradients stay the same. Only on oneDNN: other backends keep the order of TensorFlow and
  // Caffe.
  void PlanReluOfMaximum(const ForwardUnit& unit, const BackwardOp& step) {
    const auto* pool = dynamic_cast<const PoolOp*>(step.op.get());
    if (pool == nullptr || pool->algorithm() != PoolAlgorithm::kMax) return;
    if (draft_.forward_workspaces.at(step.node) != "onednn") return;
    if (draft_.request.rules != nullptr) return;
    const std::optional<int> node = FusedReluOf(step.sources.front());
    if (!node || !needed_[step.sources.front()]) return;
    const float bound = dynamic_cast<const ReluOp&>(*draft_.NodeAt(*node).op).bound();
    const BufferId gradient = draft_.gradients[step.result].front();
    parts_[step.result].clear();
    PlanPass(
        unit,
        {*node, std::make_shared<ReluOp>(pool->dst_shape(), bound), {step.result}, step.result},
        Pass::kBackwardData);
    --pending_[gradient];
    draft_.gradients[step.result] = {parts_[step.result].front()};
    planned_relus_.insert(*node);
  }

  // The node of the ReLU that computes the value, if the stage of another layer computes both and
  // the value has one reader. Nothing if the gradients of both are one operation.
  std::optional<int> FusedReluOf(ValueId value) const {
    const ForwardUnit* const unit = units_[value];
    if (unit == nullptr || unit->fused.empty() || unit->own_backward) return std::nullopt;
    const bool is_relu = dynamic_cast<const ReluOp*>(draft_.NodeAt(unit->fused.back()).op.get());
    if (!is_relu || IsOutput(draft_.graph, draft_.fused, value)) return std::nullopt;
    if (readers_[value] != 1) return std::nullopt;
    return unit->fused.back();
  }

  // Sums the gradients of a value if there are several.
  void SumGradients(ValueId value, ValueId layout_source) {
    std::vector<BufferId>& parts = parts_[value];
    if (parts.size() == 1) {
      draft_.gradients[value] = {parts.front()};
      return;
    }
    const std::string name = draft_.graph.values()[value].name + ".gradient";
    // The sum may overwrite a part that nothing else reads. That part comes first.
    std::stable_partition(parts.begin(), parts.end(),
                          [this](BufferId part) { return pending_.at(part) == 1; });
    auto op = std::make_shared<AddOp>(draft_.graph.shape(value), static_cast<int>(parts.size()));
    const Execution execution = draft_.ExecutionOf(Pass::kForward);
    LayoutPreferences preferences;
    Layouts as_first;
    as_first[IndexedSrc(0)] = draft_.DescOf(parts.front()).layout;
    Layouts as_value;
    as_value[IndexedSrc(0)] =
        draft_.DescOf(draft_.activations[LayoutSource(value, layout_source)].front()).layout;
    preferences.preferred = {as_value, as_first};
    Offered offered = draft_.Choose(name, op, execution, preferences);
    std::map<Arg, BufferId> bound;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Arg arg = IndexedSrc(static_cast<int>(i));
      PlanDraft::Copies copies = {parts[i]};
      bound[arg] = draft_.RequireLayout(copies, offered.kernel->Find(arg)->desc,
                                        fmt::format("{}.{}", name, NameOf(arg)));
      if (bound[arg] != parts[i]) pending_[bound[arg]] = 1;
      --pending_[parts[i]];
    }
    const TensorDesc& dst = offered.kernel->Find(Arg::kDst)->desc;
    const BufferId first = bound.at(IndexedSrc(0));
    // A kernel may write the sum of two sources before it reads the third.
    const auto readings = std::count_if(bound.begin(), bound.end(),
                                        [&](const auto& source) { return source.second == first; });
    const bool in_place = op->Traits().forward_in_place && draft_.DescOf(first) == dst &&
                          readings == 1 && (first != parts.front() || pending_.at(first) == 0);
    bound[Arg::kDst] = in_place ? first : draft_.NewBuffer(name, dst, BufferRole::kGradient);
    pending_[bound[Arg::kDst]] = 1;
    draft_.gradients[value] = {bound[Arg::kDst]};
    draft_.AddStage(-1, MakeStage(name, StagePass::kBackwardData, op, execution, std::move(offered),
                                  std::move(bound)));
  }

  // The value whose layout `value` has: itself, or the result of its unit when it is fused away.
  ValueId LayoutSource(ValueId value, ValueId unit_result) const {
    return draft_.activations[value].empty() ? unit_result : value;
  }

  void PlanPass(const ForwardUnit& unit, const BackwardOp& step, Pass pass) {
    const std::string& name = draft_.NodeAt(step.node).name;
    Execution execution = draft_.ExecutionOf(pass);
    execution.recomputes = draft_.recomputing.contains(step.node);
    Offered offered = draft_.Choose(name, step.op, execution, PreferencesOf(unit, step, execution));
    bound_.clear();
    parameters_.clear();
    // Binds inputs first, because diff_src may reuse the memory of diff_dst.
    for (const Direction direction : {Direction::kIn, Direction::kOut}) {
      for (const KernelOperand& operand : offered.kernel->operands()) {
        if (operand.direction == direction) Bind(step, operand);
      }
    }
    const StagePass stage_pass =
        pass == Pass::kBackwardData ? StagePass::kBackwardData : StagePass::kBackwardWeights;
    draft_.AddStage(step.node,
                    MakeStage(name, stage_pass, step.op, execution, std::move(offered), bound_),
                    parameters_);
  }

  // Gradients prefer the layouts of the forward pass. An existing gradient keeps its layout, and
  // the gradient of a parameter uses the parameter's. Tensors that forward saved are required as
  // they are.
  LayoutPreferences PreferencesOf(const ForwardUnit& unit, const BackwardOp& step,
                                  const Execution& execution) const {
    LayoutPreferences preferences;
    if (execution.recomputes) preferences.backend = draft_.forward_workspaces.at(step.node);
    Layouts preferred;
    Layouts without_parameters;
    for (const Operand& operand : step.op->Operands(execution)) {
      if (const auto saved = draft_.saved.find({step.node, operand.arg});
          saved != draft_.saved.end()) {
        preferences.required[operand.arg] = draft_.DescOf(saved->second).layout;
        preferences.backend = draft_.forward_workspaces.at(step.node);
      } else if (const auto buffer = LayoutBuffer(unit, step, operand.arg)) {
        preferred[operand.arg] = draft_.DescOf(*buffer).layout;
        without_parameters[operand.arg] = preferred[operand.arg];
      } else {
        const auto parameter = ParameterOfGradient(*step.op, operand.arg);
        const auto found =
            draft_.forward_parameters.find({step.node, parameter.value_or(operand.arg)});
        if (found != draft_.forward_parameters.end() && !found->second.layout.is_opaque()) {
          preferred[operand.arg] = found->second.layout;
        }
      }
    }
    preferences.preferred = {preferred, without_parameters};
    return preferences;
  }

  // The buffer whose layout an activation or gradient should have. Nothing for a parameter.
  std::optional<BufferId> LayoutBuffer(const ForwardUnit& unit, const BackwardOp& step,
                                       Arg arg) const {
    const auto activation = [&](ValueId value) -> std::optional<BufferId> {
      const ValueId like = LayoutSource(value, unit.result);
      if (draft_.graph.shape(like) != draft_.graph.shape(value)) return std::nullopt;
      return draft_.activations[like].front();
    };
    if (arg == Arg::kSrc || arg == Arg::kDiffSrc) return activation(step.sources.front());
    if (arg == Arg::kDst) return activation(step.result);
    if (arg == Arg::kDiffDst) {
      // The winners of a pooling have the layout of its forward result. Other operations use the
      // existing gradient's layout.
      const bool follows = step.op->Traits().layout_policy == LayoutPolicy::kFollows;
      if (follows) return activation(step.result);
      return draft_.gradients[step.result].front();
    }
    if (arg.role == Arg::kDiffSrc || arg.role == Arg::kSrc) {
      return activation(step.sources[arg.index]);
    }
    return std::nullopt;
  }

  void Bind(const BackwardOp& step, const KernelOperand& operand) {
    const std::string name =
        fmt::format("{}.{}", draft_.NodeAt(step.node).name, NameOf(operand.arg));
    const Arg arg = operand.arg;
    if (arg == Arg::kSrc) {
      bound_[arg] =
          draft_.RequireLayout(draft_.activations[step.sources.front()], operand.desc, name);
    } else if (arg.role == Arg::kSrc) {  // one of several sources
      bound_[arg] =
          draft_.RequireLayout(draft_.activations[step.sources[arg.index]], operand.desc, name);
    } else if (arg == Arg::kDst) {
      bound_[arg] = draft_.RequireLayout(draft_.activations[step.result], operand.desc, name);
    } else if (arg == Arg::kDiffDst) {
      bound_[arg] = draft_.RequireLayout(draft_.gradients[step.result], operand.desc, name);
    } else if (arg == Arg::kDiffSrc) {
      bound_[arg] = GradientOfSource(step, operand.desc, name);
      AddGradientPart(step.sources.front(), bound_[arg]);
    } else if (arg.role == Arg::kDiffSrc) {  // of one of several sources
      bound_[arg] = draft_.NewBuffer(name, operand.desc, BufferRole::kGradient);
      AddGradientPart(step.sources[arg.index], bound_[arg]);
    } else if (IsParameter(*step.op, arg)) {
      parameters_.insert(arg);
    } else if (const auto parameter = ParameterOfGradient(*step.op, arg)) {
      draft_.gradient_parameters.insert({{step.node, *parameter}, operand.desc});
      parameters_.insert(arg);
    } else {
      bound_[arg] = draft_.saved.at({step.node, arg});
    }
  }

  // Reuses the memory of the result's gradient when nothing else reads it.
  BufferId GradientOfSource(const BackwardOp& step, const TensorDesc& desc,
                            const std::string& name) {
    const auto above = bound_.find(Arg::kDiffDst);
    if (step.op->Traits().backward_data_in_place && above != bound_.end() &&
        draft_.DescOf(above->second) == desc) {
      const bool is_copy = above->second != draft_.gradients[step.result].front();
      if (is_copy || pending_.at(above->second) == 1) return above->second;
    }
    return draft_.NewBuffer(name, desc, BufferRole::kGradient);
  }

  PlanDraft& draft_;
  std::vector<std::vector<BufferId>> parts_;  // per value: gradients to sum
  std::vector<bool> needed_;                  // per value
  std::vector<int> readers_;                  // per value: how often stages read it
  std::vector<const ForwardUnit*> units_;     // per value: the stage that computes it
  // Per buffer: the number of values that still need it as their gradient or as a part of it.
  std::map<BufferId, int> pending_;
  std::set<int> planned_relus_;  // nodes whose gradient is planned: PlanReluOfMaximum
  // Of the stage that is being planned.
  std::map<Arg, BufferId> bound_;
  std::set<Arg> parameters_;
};

}  // namespace

void PlanBackward(PlanDraft& draft) { BackwardPlanner(draft).Plan(); }

}  // namespace topdnn
