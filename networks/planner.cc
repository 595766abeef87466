#include "networks/planner.h"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <variant>

#include "kernels/softmax/cross_entropy.h"
#include "networks/plan_draft.h"
#include "networks/plan_parameters.h"

namespace topdnn {

namespace {

// The order of the work: forward through the graph, the loss, backward through it, the updates.
class Planner {
 public:
  Planner(const Graph& graph, const PlanRequest& request) : draft_(graph, request) {}

  std::unique_ptr<Plan> Build();

 private:
  void PlanForward();
  void PlanForwardNode(int index);
  bool FuseNext(int node, std::shared_ptr<const Op>& op, StageDraft& draft);
  bool MayOverwriteSource(const GraphNode& node) const;
  void PlanLoss();
  void PlanBackward();
  void PlanBackwardNode(int index, Pass pass);
  Layouts BackwardPreference(const GraphNode& node, const Execution& execution) const;
  void BindBackwardOperand(StageDraft& draft, const GraphNode& node, const KernelOperand& operand);

  PlanDraft draft_;
  std::map<int, int> fused_into_;  // ReLU node -> the node whose kernel computes it
};

StagePass StagePassOf(Pass pass) {
  switch (pass) {
    case Pass::kForward:
      return StagePass::kForward;
    case Pass::kBackwardData:
      return StagePass::kBackwardData;
    case Pass::kBackwardWeights:
      return StagePass::kBackwardWeights;
  }
  return StagePass::kForward;
}

// Takes a ReLU that alone reads the node's result into the node's own kernel, where the backend
// offers that.
bool Planner::FuseNext(int node, std::shared_ptr<const Op>& op, StageDraft& draft) {
  const std::vector<int> readers = draft_.graph.Readers(draft_.graph.nodes()[node].output);
  if (!draft_.request.fuse || readers.size() != 1) return false;
  const GraphNode& next = draft_.graph.nodes()[readers.front()];
  // An addition's other source would have to lie in dst already, which is not planned for.
  if (next.inputs.size() != 1) return false;
  std::shared_ptr<const Op> fused = op->FusedWith(*next.op);
  if (fused == nullptr) return false;
  auto offer = draft_.TryOffer(fused, draft_.ExecutionOf(Pass::kForward), {});
  if (!std::holds_alternative<Offered>(offer)) return false;
  if (std::get<Offered>(offer).backend != draft_.request.backend) return false;
  op = std::move(fused);
  draft.stage.fused.push_back(next.name);
  fused_into_[readers.front()] = node;
  return true;
}

// A node may write over its source when nothing else reads that, now or in the backward pass.
bool Planner::MayOverwriteSource(const GraphNode& node) const {
  if (!node.op->RunsInPlace(Pass::kForward) || node.inputs.size() != 1) return false;
  const GraphValue& source = draft_.graph.values()[node.inputs.front()];
  if (source.producer < 0 || draft_.graph.Readers(node.inputs.front()).size() != 1) return false;
  if (!draft_.request.training) return true;
  const Op& producer = *draft_.graph.nodes()[source.producer].op;
  return !producer.Find(draft_.ExecutionOf(Pass::kBackwardData), Arg::kDst) &&
         !producer.Find(draft_.ExecutionOf(Pass::kBackwardWeights), Arg::kDst) &&
         !node.op->Find(draft_.ExecutionOf(Pass::kBackwardData), Arg::kSrc);
}

void Planner::PlanForward() {
  const GraphValue& input = draft_.graph.values().front();
  const DataType type = draft_.request.type == DataType::kF64 ? DataType::kF64 : DataType::kF32;
  draft_.activations.front() = {draft_.NewBuffer(
      "input", {input.shape, type, Layout::Plain(input.shape.rank())}, BufferRole::kInput, true)};
  for (int node = 0; node < static_cast<int>(draft_.graph.nodes().size()); ++node) {
    if (fused_into_.count(node) == 0) PlanForwardNode(node);
  }
}

void Planner::PlanForwardNode(int index) {
  const GraphNode& node = draft_.graph.nodes()[index];
  StageDraft draft;
  draft.node = index;
  std::shared_ptr<const Op> op = node.op;
  const bool fused = FuseNext(index, op, draft);
  const Execution execution = draft_.ExecutionOf(Pass::kForward);

  Layouts preferred;
  std::map<Arg, ValueId> sources;
  std::size_t next_source = 0;
  for (const Operand& operand : op->Operands(execution)) {
    const bool is_source = operand.arg == Arg::kSrc || operand.arg == Arg::kSum ||
                           (operand.arg >= Arg::kMultiple && operand.arg < Arg::kDiffMultiple);
    if (!is_source) continue;
    sources[operand.arg] = node.inputs[next_source++];
    preferred[operand.arg] = draft_.DescOf(draft_.activations[sources[operand.arg]].front()).layout;
  }
  if (op->layout_preference() == LayoutPreference::kPlain) preferred.clear();
  Offered offered = draft_.Choose(node.name, op, execution, {preferred});

  const ValueId result =
      fused ? draft_.graph.nodes()[draft_.graph.Readers(node.output).front()].output : node.output;
  std::map<Arg, BufferId> bound;
  for (const KernelOperand& operand : offered.kernel->operands()) {
    if (const auto source = sources.find(operand.arg); source != sources.end()) {
      bound[operand.arg] = draft_.Require(draft_.activations[source->second], operand.desc,
                                          fmt::format("{}.{}", node.name, NameOf(operand.arg)));
    } else if (IsParameter(*op, operand.arg)) {
      draft.parameters.insert(operand.arg);
      draft_.forward_parameters.insert({{index, operand.arg}, operand.desc});
    } else if (operand.arg == Arg::kDst) {
      const bool in_place =
          MayOverwriteSource(node) && draft_.DescOf(bound.at(Arg::kSrc)) == operand.desc;
      const bool is_output = result == draft_.graph.output();
      bound[operand.arg] =
          in_place && !is_output
              ? bound.at(Arg::kSrc)
              : draft_.NewBuffer(draft_.graph.values()[result].name, operand.desc,
                                 is_output ? BufferRole::kOutput : BufferRole::kActivation,
                                 is_output);
      draft_.activations[result] = {bound[operand.arg]};
    } else {
      bound[operand.arg] = draft_.NewBuffer(fmt::format("{}.{}", node.name, NameOf(operand.arg)),
                                            operand.desc, BufferRole::kSaved);
      draft_.saved[{index, operand.arg}] = bound[operand.arg];
    }
  }
  std::vector<std::string> fused_layers = std::move(draft.stage.fused);
  draft.stage = MakeStage(node.name, StagePass::kForward, op, execution, std::move(offered));
  draft.stage.fused = std::move(fused_layers);
  draft.stage.buffers = std::move(bound);
  draft_.stages.push_back(std::move(draft));
}

void Planner::PlanLoss() {
  const Shape& logits = draft_.graph.shape(draft_.graph.output());
  if (logits.rank() != 2) {
    throw PlanError(fmt::format("{} ends in {}: training needs logits of (N, classes)",
                                draft_.graph.name(), logits.ToString()));
  }
  auto op = std::make_shared<SoftmaxCrossEntropyOp>(logits[0], logits[1]);
  // The loss stays in f32 whatever the network computes in (f64 in a check in double).
  Execution execution = draft_.ExecutionOf(Pass::kForward);
  if (execution.type != DataType::kF64) execution.type = DataType::kF32;
  Offered offered = draft_.Demand("loss", op, execution, {});
  std::map<Arg, BufferId> bound;
  for (const KernelOperand& operand : offered.kernel->operands()) {
    if (operand.arg == Arg::kSrc) {
      bound[operand.arg] =
          draft_.Require(draft_.activations[draft_.graph.output()], operand.desc, "loss.src");
    } else if (operand.arg == Arg::kDiffSrc) {
      bound[operand.arg] = draft_.NewBuffer("loss.diff_src", operand.desc, BufferRole::kGradient);
      draft_.gradients[draft_.graph.output()] = {bound[operand.arg]};
    } else if (operand.arg == Arg::kLabels) {
      bound[operand.arg] = draft_.NewBuffer("labels", operand.desc, BufferRole::kLabels, true);
    } else {
      bound[operand.arg] =
          draft_.NewBuffer(NameOf(operand.arg), operand.desc, BufferRole::kOutput, true);
    }
  }
  StageDraft draft;
  draft.stage = MakeStage("loss", StagePass::kLoss, op, execution, std::move(offered));
  draft.stage.buffers = std::move(bound);
  draft_.stages.push_back(std::move(draft));
}

void Planner::PlanBackward() {
  for (int node = static_cast<int>(draft_.graph.nodes().size()) - 1; node >= 0; --node) {
    const GraphNode& layer = draft_.graph.nodes()[node];
    if (draft_.graph.Readers(layer.output).size() > 1) {
      throw PlanError(
          fmt::format("layer {} is read by several layers: a gradient that sums over "
                      "branches cannot be planned for training",
                      layer.name));
    }
    const bool wants_data = draft_.graph.values()[layer.inputs.front()].producer >= 0;
    if (wants_data && layer.op->Has(draft_.ExecutionOf(Pass::kBackwardData))) {
      PlanBackwardNode(node, Pass::kBackwardData);
    }
    if (layer.op->Has(draft_.ExecutionOf(Pass::kBackwardWeights))) {
      PlanBackwardNode(node, Pass::kBackwardWeights);
    }
  }
}

// Gradients mirror the layouts of the forward pass; the gradient that exists keeps its own, and a
// parameter's gradient that of the parameter.
Layouts Planner::BackwardPreference(const GraphNode& node, const Execution& execution) const {
  const auto index = static_cast<int>(&node - draft_.graph.nodes().data());
  Layouts preferred;
  for (const Operand& operand : node.op->Operands(execution)) {
    switch (operand.arg) {
      case Arg::kSrc: {
        preferred[operand.arg] =
            draft_.DescOf(draft_.activations[node.inputs.front()].front()).layout;
        break;
      }
      case Arg::kDst: {
        preferred[operand.arg] = draft_.DescOf(draft_.activations[node.output].front()).layout;
        break;
      }
      case Arg::kDiffSrc: {
        const PlanDraft::Copies& source = draft_.activations[node.inputs.front()];
        if (!source.empty()) preferred[operand.arg] = draft_.DescOf(source.front()).layout;
        break;
      }
      case Arg::kDiffDst: {
        // A pooling's maxima are laid out as its forward result; others take what is there.
        const bool follows = node.op->layout_preference() == LayoutPreference::kFollows;
        const PlanDraft::Copies& copies =
            follows ? draft_.activations[node.output] : draft_.gradients[node.output];
        preferred[operand.arg] = draft_.DescOf(copies.front()).layout;
        break;
      }
      default: {
        const auto parameter = ParameterOfGradient(*node.op, operand.arg);
        const auto found = draft_.forward_parameters.find({index, parameter.value_or(operand.arg)});
        if (found != draft_.forward_parameters.end() && !found->second.layout.is_opaque()) {
          preferred[operand.arg] = found->second.layout;
        }
      }
    }
  }
  return preferred;
}

void Planner::PlanBackwardNode(int index, Pass pass) {
  const GraphNode& node = draft_.graph.nodes()[index];
  const Execution execution = draft_.ExecutionOf(pass);
  const Layouts preferred = BackwardPreference(node, execution);
  Layouts without_parameters = preferred;
  for (const Parameter& parameter : node.op->Parameters()) {
    without_parameters.erase(parameter.arg);
    without_parameters.erase(parameter.gradient);
  }
  Offered offered = draft_.Choose(node.name, node.op, execution, {preferred, without_parameters});
  StageDraft draft;
  draft.node = index;
  draft.stage.name = node.name;
  for (const KernelOperand& operand : offered.kernel->operands()) {
    BindBackwardOperand(draft, node, operand);
  }
  std::map<Arg, BufferId> bound = std::move(draft.stage.buffers);
  draft.stage = MakeStage(node.name, StagePassOf(pass), node.op, execution, std::move(offered));
  draft.stage.buffers = std::move(bound);
  draft_.stages.push_back(std::move(draft));
}

void Planner::BindBackwardOperand(StageDraft& draft, const GraphNode& node,
                                  const KernelOperand& operand) {
  const std::string name = fmt::format("{}.{}", node.name, NameOf(operand.arg));
  auto& bound = draft.stage.buffers;
  switch (operand.arg) {
    case Arg::kSrc:
      bound[operand.arg] =
          draft_.Require(draft_.activations[node.inputs.front()], operand.desc, name);
      return;
    case Arg::kDst:
      bound[operand.arg] = draft_.Require(draft_.activations[node.output], operand.desc, name);
      return;
    case Arg::kDiffDst:
      bound[operand.arg] = draft_.Require(draft_.gradients[node.output], operand.desc, name);
      return;
    case Arg::kDiffSrc: {
      const auto above = bound.find(Arg::kDiffDst);
      const bool in_place = node.op->RunsInPlace(Pass::kBackwardData) && above != bound.end() &&
                            draft_.DescOf(above->second) == operand.desc;
      bound[operand.arg] =
          in_place ? above->second : draft_.NewBuffer(name, operand.desc, BufferRole::kGradient);
      draft_.gradients[node.inputs.front()] = {bound[operand.arg]};
      return;
    }
    default:
      break;
  }
  if (IsParameter(*node.op, operand.arg)) {
    draft.parameters.insert(operand.arg);
  } else if (const auto parameter = ParameterOfGradient(*node.op, operand.arg)) {
    draft_.gradient_parameters.insert({{draft.node, *parameter}, operand.desc});
    draft.parameters.insert(operand.arg);
  } else {
    bound[operand.arg] = draft_.saved.at({draft.node, operand.arg});
  }
}

std::unique_ptr<Plan> Planner::Build() {
  PlanForward();
  if (draft_.request.training) {
    PlanLoss();
    PlanBackward();
  }
  ParameterPlanner parameters(draft_);
  parameters.Settle();
  if (draft_.request.training) parameters.PlanUpdates();
  std::vector<Stage> stages = parameters.Bind();
  auto plan =
      std::make_unique<Plan>(draft_.graph.name(), draft_.request.threads, std::move(draft_.buffers),
                             std::move(stages), std::move(parameters).Take());
  if (draft_.request.memory_limit != 0 && plan->bytes() > draft_.request.memory_limit) {
    constexpr double kGiB = 1 << 30;
    throw PlanError(
        fmt::format("{} needs {:.2f} GiB and {:.2f} GiB may be used: take a smaller "
                    "--batch",
                    draft_.graph.name(), static_cast<double>(plan->bytes()) / kGiB,
                    static_cast<double>(draft_.request.memory_limit) / kGiB));
  }
  return plan;
}

}  // namespace

std::unique_ptr<Plan> MakePlan(const Graph& graph, const PlanRequest& request) {
  return Planner(graph, request).Build();
}

}  // namespace topdnn
