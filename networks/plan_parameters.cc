#include "networks/plan_parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "kernels/sgd/adam.h"
#include "kernels/sgd/sgd.h"
#include "networks/memory.h"

namespace topdnn {

BufferId ParameterPlanner::Block(int node, std::size_t bytes, std::string_view what,
                                 BufferRole role) {
  const bool wide = draft_.request.type == DataType::kF64;
  const DataType type = wide ? DataType::kF64 : DataType::kF32;
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

void ParameterPlanner::Settle() {
  const bool training = draft_.request.training;
  for (int index = 0; index < static_cast<int>(draft_.graph.nodes().size()); ++index) {
    const GraphNode& node = draft_.graph.nodes()[index];
    const std::vector<Parameter> specs = node.op->Parameters();
    if (specs.empty()) continue;
    const auto& wanted = training ? draft_.gradient_parameters : draft_.forward_parameters;
    std::vector<TensorDesc> descs;
    std::vector<std::size_t> offsets;
    std::size_t bytes = 0;
    for (const Parameter& spec : specs) {
      descs.push_back(wanted.at({index, spec.arg}));
      offsets.push_back(bytes);
      bytes += (descs.back().bytes() + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
    }
    value_blocks_[index] = Block(index, bytes, "parameters", BufferRole::kParameter);
    if (training) {
      gradient_blocks_[index] = Block(index, bytes, "gradients", BufferRole::kParameterGradient);
    }
    for (std::size_t i = 0; i < specs.size(); ++i) {
      const BufferId value = Part(index, value_blocks_[index], descs[i], offsets[i], specs[i].name);
      const BufferId gradient = training ? Part(index, gradient_blocks_[index], descs[i],
                                                offsets[i], NameOf(specs[i].gradient))
                                         : -1;
      index_[{index, specs[i].arg}] = parameters_.size();
      parameters_.push_back({node.name, specs[i], value, gradient});
    }
  }
}

// One number for all layers, which a schedule may write between steps.
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
    Offered offered = draft_.Demand(layer, op, execution, {});
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
    StageDraft draft;
    draft.stage = MakeStage(layer, StagePass::kUpdate, op, execution, std::move(offered));
    draft.stage.buffers = std::move(bound);
    draft_.stages.push_back(std::move(draft));
  }
}

std::vector<Stage> ParameterPlanner::Bind() {
  std::map<std::pair<int, Arg>, PlanDraft::Copies> copies;
  std::vector<Stage> stages;
  for (StageDraft& draft : draft_.stages) {
    for (const Arg arg : draft.parameters) {
      const Op& op = *draft_.graph.nodes()[draft.node].op;
      if (const auto parameter = ParameterOfGradient(op, arg)) {
        draft.stage.buffers[arg] = parameters_[index_.at({draft.node, *parameter})].gradient;
        continue;
      }
      const TensorDesc& wanted = draft.stage.kernel->Find(arg)->desc;
      PlanDraft::Copies& have = copies[{draft.node, arg}];
      if (have.empty()) have = {parameters_[index_.at({draft.node, arg})].value};
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
  }
  return stages;
}

}  // namespace topdnn
