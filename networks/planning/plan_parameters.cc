#include "networks/planning/plan_parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>

#include "kernels/batchnorm/batchnorm.h"
#include "kernels/sgd/adam.h"
#include "kernels/sgd/sgd.h"
#include "networks/parameters/parameters.h"
#include "networks/plan/memory.h"

namespace topdnn {

BufferId ParameterPlanner::Block(int node, std::size_t bytes, std::string_view what,
                                 BufferRole role) {
  const DataType type = draft_.ParameterType();
  const Shape flat{static_cast<std::int64_t>(bytes / SizeOf(type))};
  return draft_.NewBuffer(fmt::format("{}.{}", draft_.graph.nodes()[node].name, what),
                          {flat, type, Layout::Plain(1)}, role, true);
}

BufferId ParameterPlanner::Part(int node, BufferId parent, const TensorDesc& desc,
                                std::size_t offset, const std::string& what) {
  const BufferId part =
      draft_.NewBuffer(fmt::format("{}.{}", draft_.graph.nodes()[node].name, what), desc,
                       draft_.buffers[parent].role, true);
  draft_.buffers[part].parent = parent;
  draft_.buffers[part].parent_offset = offset;
  return part;
}

TensorDesc ParameterPlanner::DescOf(int node, const Parameter& spec) const {
  if (IsStoredByRules()) {
    const Op& op = *draft_.NodeAt(node).op;
    // (The operand of a layer on images has their dimensions.)
    const auto operand = op.Find(draft_.ExecutionOf(Pass::kForward), spec.arg);
    const Shape& shape = operand ? operand->shape : spec.shape;
    return {shape, draft_.ParameterType(), StoredLayout(op, shape)};
  }
  const auto gradient = draft_.gradient_parameters.find({node, spec.arg});
  if (gradient != draft_.gradient_parameters.end()) return gradient->second;
  const auto forward = draft_.forward_parameters.find({node, spec.arg});
  const bool is_prepared = std::any_of(
      draft_.fused.units.begin(), draft_.fused.units.end(), [&](const ForwardUnit& unit) {
        return (unit.node == node || unit.norm == node || unit.chained == node) && IsPrepared(unit);
      });
  if (forward != draft_.forward_parameters.end() && !is_prepared) return forward->second;
  return {spec.shape, draft_.ParameterType(), Layout::Plain(spec.shape.rank())};
}

void ParameterPlanner::Settle() {
  for (int index = 0; index < static_cast<int>(draft_.graph.nodes().size()); ++index) {
    if (!draft_.NodeAt(index).op->Parameters().empty()) SettleNode(index);
  }
  for (const ForwardUnit& unit : draft_.fused.units) {
    if (!IsPrepared(unit)) continue;
    PlanPrepared(unit, unit.node, unit.norm, Arg::kOnly);
    if (unit.chained) PlanPrepared(unit, *unit.chained, unit.chained_norm, 1);
  }
}

void ParameterPlanner::SettleNode(int index) {
  const GraphNode& node = draft_.NodeAt(index);
  const std::vector<Parameter> specs = node.op->Parameters();
  const bool has_gradients = std::any_of(specs.begin(), specs.end(), [&](const Parameter& spec) {
    return draft_.gradient_parameters.count({index, spec.arg}) != 0;
  });
  std::vector<TensorDesc> descs;
  std::vector<std::size_t> offsets;
  std::size_t bytes = 0;
  for (const Parameter& spec : specs) {
    descs.push_back(DescOf(index, spec));
    offsets.push_back(bytes);
    bytes += (descs.back().bytes() + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
  }
  value_blocks_[index] = Block(index, bytes, "parameters", BufferRole::kParameter);
  if (has_gradients) {
    gradient_blocks_[index] = Block(index, bytes, "gradients", BufferRole::kParameterGradient);
  }
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const BufferId value = Part(index, value_blocks_[index], descs[i], offsets[i], specs[i].name);
    const BufferId gradient = has_gradients ? Part(index, gradient_blocks_[index], descs[i],
                                                   offsets[i], NameOf(specs[i].gradient))
                                            : -1;
    index_[{index, specs[i].arg}] = parameters_.size();
    parameters_.push_back({node.name, specs[i], value, gradient, PlaceOf(draft_.graph, node),
                           gradient >= 0 && cancelled_.count({index, specs[i].arg}) != 0});
  }
}

BufferId ParameterPlanner::ValueOf(int node, Arg arg) const {
  const auto found = index_.find({node, arg});
  return found == index_.end() ? -1 : parameters_[found->second].value;
}

bool ParameterPlanner::IsPrepared(const ForwardUnit& unit) const {
  if (unit.norm || unit.chained) return true;
  const auto weights = draft_.forward_parameters.find({unit.node, Arg::kWeights});
  return !draft_.request.training && weights != draft_.forward_parameters.end() &&
         weights->second.layout.is_opaque();
}

void ParameterPlanner::PlanPrepared(const ForwardUnit& unit, int layer, std::optional<int> norm,
                                    int index) {
  const auto read = [&](Arg::Role role) { return std::pair(unit.node, Arg(role, index)); };
  const auto prepared = [&](Arg::Role role) {
    const BufferId buffer = draft_.NewBuffer(
        fmt::format("{}.prepared_{}", draft_.NodeAt(layer).name, NameOf(Arg(role))),
        draft_.forward_parameters.at(read(role)), BufferRole::kParameter, true);
    prepared_buffers_[read(role)] = buffer;
    return buffer;
  };
  PreparedParameters parameters;
  parameters.backend = draft_.forward_workspaces.at(unit.node);
  parameters.weights = ValueOf(layer, Arg::kWeights);
  parameters.bias = ValueOf(layer, Arg::kBias);
  parameters.prepared_weights = prepared(Arg::kWeights);
  parameters.prepared_bias = -1;
  if (norm && draft_.NodeAt(*norm).op->kind() == "binary") {
    parameters.norm = {ValueOf(*norm, Arg::kWeights), -1, -1, -1, 0};
    if (parameters.bias >= 0) parameters.prepared_bias = prepared(Arg::kBias);
  } else if (norm) {
    const auto& op = dynamic_cast<const BatchNormOp&>(*draft_.NodeAt(*norm).op);
    const TensorDesc channel = {{op.channels()}, draft_.ParameterType(), Layout::Plain(1)};
    parameters.norm = {ValueOf(*norm, Arg::kScale), ValueOf(*norm, Arg::kShift),
                       draft_.NewStatistic(*norm, Arg::kMean, channel),
                       draft_.NewStatistic(*norm, Arg::kVariance, channel), op.epsilon()};
    parameters.prepared_bias = prepared(Arg::kBias);
  } else if (parameters.bias >= 0 &&
             (index != Arg::kOnly || draft_.forward_parameters.at(read(Arg::kBias)).type !=
                                         draft_.DescOf(parameters.bias).type)) {
    // (Bind finds only the first layer's own; a quantized layer has integers.)
    parameters.prepared_bias = prepared(Arg::kBias);
  }
  prepared_.push_back(std::move(parameters));
}

// One learning rate for all layers. A schedule may change it between steps.
BufferId ParameterPlanner::LearningRate(const TensorDesc& desc) {
  if (learning_rate_ < 0) {
    learning_rate_ = draft_.NewBuffer("learning_rate", desc, BufferRole::kOptimizerState, true);
    draft_.buffers[learning_rate_].initial =
        static_cast<double>(draft_.request.optimizer.learning_rate);
  }
  return learning_rate_;
}

void ParameterPlanner::PlanUpdates() {
  for (const auto& [index, block] : value_blocks_) {
    if (gradient_blocks_.count(index) == 0) continue;
    const std::string& layer = draft_.graph.nodes()[index].name;
    const Optimizer& optimizer = draft_.request.optimizer;
    const std::int64_t n = draft_.DescOf(block).shape.elements();
    std::shared_ptr<const Op> op;
    if (optimizer.kind == Optimizer::Kind::kAdam) {
      op = std::make_shared<AdamOp>(n, AdamSettings{optimizer.beta1, optimizer.beta2,
                                                    optimizer.epsilon, optimizer.weight_decay});
    } else {
      op = std::make_shared<SgdOp>(n, SgdSettings{optimizer.momentum, optimizer.weight_decay});
    }
    Execution execution = draft_.ExecutionOf(Pass::kForward);
    execution.type = draft_.DescOf(block).type;
    Offered offered = draft_.RequireKernel(layer, op, execution);
    std::map<Arg, BufferId> bound;
    for (const KernelOperand& operand : offered.kernel->operands()) {
      if (operand.arg == Arg::kWeights) {
        bound[operand.arg] = block;
      } else if (operand.arg == Arg::kDiffWeights) {
        bound[operand.arg] = gradient_blocks_.at(index);
      } else if (operand.arg == Arg::kLearningRate) {
        bound[operand.arg] = LearningRate(operand.desc);
      } else {
        bound[operand.arg] = draft_.NewBuffer(fmt::format("{}.{}", layer, NameOf(operand.arg)),
                                              operand.desc, BufferRole::kOptimizerState, true);
      }
    }
    draft_.AddStage(-1, MakeStage(layer, StagePass::kUpdate, op, execution, std::move(offered),
                                  std::move(bound)));
  }
}

bool ParameterPlanner::IsStoredByRules() const {
  const PlanRules* rules = draft_.request.rules;
  return draft_.request.training && rules != nullptr && rules->channels_last;
}

// The gradient of a cancelled parameter is computed, because the kernel always does, but nothing
// reads it. By the rules of a framework, a kernel may write a gradient in another layout than that
// of the parameter; then `after` gets the reorder.
BufferId ParameterPlanner::GradientFor(const StageDraft& stage, Arg arg, std::size_t parameter,
                                       std::vector<Stage>& after) {
  const TensorDesc& written = stage.stage.kernel->Find(arg)->desc;
  const PlanParameter& of = parameters_[parameter];
  if (!of.cancelled && written == draft_.DescOf(of.gradient)) return of.gradient;
  const std::string name = fmt::format("{}.{}", stage.stage.name, NameOf(arg));
  const BufferId buffer = draft_.NewBuffer(name, written, BufferRole::kGradient);
  if (!of.cancelled) after.push_back(draft_.ReorderStage(name, buffer, of.gradient));
  return buffer;
}

std::vector<Stage> ParameterPlanner::Bind() {
  std::map<std::pair<int, Arg>, PlanDraft::Copies> copies;
  std::vector<Stage> stages;
  for (StageDraft& draft : draft_.stages) {
    std::vector<Stage> after;
    for (const Arg arg : draft.parameters) {
      const Op& op = *draft_.graph.nodes()[draft.node].op;
      if (const auto parameter = ParameterOfGradient(op, arg)) {
        draft.stage.buffers[arg] =
            GradientFor(draft, arg, index_.at({draft.node, *parameter}), after);
        continue;
      }
      if (const auto found = prepared_buffers_.find({draft.node, arg});
          found != prepared_buffers_.end()) {
        draft.stage.buffers[arg] = found->second;
        continue;
      }
      const TensorDesc& wanted = draft.stage.kernel->Find(arg)->desc;
      PlanDraft::Copies& have = copies[{draft.node, arg}];
      // (Each operation of a framework reorders for itself.)
      if (have.empty() || IsStoredByRules())
        have = {parameters_[index_.at({draft.node, arg})].value};
      const auto found = std::find_if(have.begin(), have.end(),
                                      [&](BufferId copy) { return draft_.DescOf(copy) == wanted; });
      if (found == have.end()) {
        const std::string name = fmt::format("{}.{}", draft.stage.name, NameOf(arg));
        have.push_back(draft_.NewBuffer(name, wanted, BufferRole::kActivation));
        stages.push_back(draft_.ReorderStage(name, have.front(), have.back()));
        draft.stage.buffers[arg] = have.back();
      } else {
        draft.stage.buffers[arg] = *found;
      }
    }
    stages.push_back(std::move(draft.stage));
    std::move(after.begin(), after.end(), std::back_inserter(stages));
  }
  return stages;
}

}  // namespace topdnn
