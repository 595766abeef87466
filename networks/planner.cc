#include "networks/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "kernels/registry.h"
#include "kernels/reorder/reorder.h"
#include "kernels/sgd/adam.h"
#include "kernels/sgd/sgd.h"
#include "kernels/softmax/cross_entropy.h"
#include "networks/memory.h"

namespace topdnn {

namespace {

using Layouts = std::map<Arg, Layout>;

// A kernel and the backend that offered it.
struct Offered {
  std::unique_ptr<Kernel> kernel;
  std::string backend;
};

// A stage under construction: operands that are parameters are bound when every layout is known.
struct Draft {
  Stage stage;
  int node = -1;
  std::set<Arg> parameters;  // to be bound by BindParameters
};

class Planner {
 public:
  Planner(const Graph& graph, const PlanRequest& request)
      : graph_(graph),
        request_(request),
        activations_(graph.values().size()),
        gradients_(graph.values().size()) {}

  std::unique_ptr<Plan> Build();

 private:
  // Buffers that hold one logical tensor in several layouts, the first being the original.
  using Copies = std::vector<BufferId>;

  Execution ExecutionOf(Pass pass) const { return {pass, request_.training, request_.type}; }

  // --- kernels
  std::variant<Offered, Refusal> TryOffer(const std::shared_ptr<const Op>& op,
                                          const Execution& execution, const Layouts& layouts);
  Offered Demand(const std::string& layer, const std::shared_ptr<const Op>& op,
                 const Execution& execution, const Layouts& layouts);
  Offered Choose(const std::string& layer, const std::shared_ptr<const Op>& op,
                 const Execution& execution, const std::vector<Layouts>& preferences);

  // --- buffers
  BufferId NewBuffer(std::string name, TensorDesc desc, BufferRole role, bool persistent = false);
  const TensorDesc& DescOf(BufferId buffer) const { return buffers_[buffer].desc; }
  BufferId Require(Copies& copies, const TensorDesc& desc, const std::string& name);
  Stage ReorderStage(const std::string& name, BufferId from, BufferId to);

  // --- passes
  void PlanForward();
  void PlanForwardNode(int node);
  bool FuseNext(int node, std::shared_ptr<const Op>& op, Draft& draft);
  bool MayOverwriteSource(const GraphNode& node) const;
  void PlanLoss();
  void PlanBackward();
  void PlanBackwardNode(int node, Pass pass);
  Layouts BackwardPreference(const GraphNode& node, const Execution& execution) const;
  void BindBackwardOperand(Draft& draft, const GraphNode& node, const KernelOperand& operand);
  void SettleParameters();
  BufferId LearningRate(const TensorDesc& desc);
  void PlanUpdates();
  std::vector<Stage> BindParameters();

  const Graph& graph_;
  const PlanRequest& request_;
  std::vector<Buffer> buffers_;
  std::vector<Draft> drafts_;
  std::vector<Copies> activations_;  // per value
  std::vector<Copies> gradients_;    // per value
  std::map<std::pair<int, Arg>, BufferId> saved_;
  std::map<int, int> fused_into_;  // ReLU node -> the node whose kernel computes it
  // Layout and type that the forward kernel wants of a parameter, and that its gradient has.
  std::map<std::pair<int, Arg>, TensorDesc> forward_parameter_;
  std::map<std::pair<int, Arg>, TensorDesc> gradient_parameter_;
  std::vector<PlanParameter> parameters_;
  std::map<std::pair<int, Arg>, std::size_t> parameter_index_;
  std::map<int, BufferId> gradient_block_, value_block_;  // per node
  BufferId learning_rate_ = -1;
};

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

std::variant<Offered, Refusal> Planner::TryOffer(const std::shared_ptr<const Op>& op,
                                                 const Execution& execution,
                                                 const Layouts& layouts) {
  KernelRequest request{op, execution, request_.threads, layouts, ""};
  std::vector<std::string> backends = {request_.backend};
  backends.insert(backends.end(), request_.fallback.begin(), request_.fallback.end());
  std::optional<Refusal> first;
  for (const std::string& backend : backends) {
    KernelOrRefusal offer = MakeKernel(backend, request);
    if (auto* kernel = std::get_if<std::unique_ptr<Kernel>>(&offer)) {
      return Offered{std::move(*kernel), backend};
    }
    if (!first) first = std::get<Refusal>(std::move(offer));
  }
  return *std::move(first);
}

Offered Planner::Demand(const std::string& layer, const std::shared_ptr<const Op>& op,
                        const Execution& execution, const Layouts& layouts) {
  auto offer = TryOffer(op, execution, layouts);
  if (auto* refusal = std::get_if<Refusal>(&offer)) {
    throw PlanError(
        fmt::format("layer {} ({} {}) cannot run on {}: {}; choose another backend or "
                    "--fallback",
                    layer, op->kind(), op->Problem(), request_.backend, refusal->reason));
  }
  return std::get<Offered>(std::move(offer));
}

// The backend's own choice of layouts, or preferred ones where they cost nothing: the same
// implementation runs, and reorders are saved. `preferences` come with the dearest wish first.
Offered Planner::Choose(const std::string& layer, const std::shared_ptr<const Op>& op,
                        const Execution& execution, const std::vector<Layouts>& preferences) {
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

BufferId Planner::NewBuffer(std::string name, TensorDesc desc, BufferRole role, bool persistent) {
  buffers_.push_back({std::move(name), std::move(desc), role, persistent, -1, 0, 0.0});
  return static_cast<BufferId>(buffers_.size()) - 1;
}

// The copy of a tensor that lies as `desc` says; when there is none, a reorder stage makes it.
BufferId Planner::Require(Copies& copies, const TensorDesc& desc, const std::string& name) {
  for (const BufferId copy : copies) {
    if (DescOf(copy) == desc) return copy;
  }
  const Buffer original = buffers_[copies.front()];
  const BufferId copy = NewBuffer(name, desc, original.role);
  Draft draft;
  draft.stage = ReorderStage(name, copies.front(), copy);
  drafts_.push_back(std::move(draft));
  copies.push_back(copy);
  return copy;
}

Stage Planner::ReorderStage(const std::string& name, BufferId from, BufferId to) {
  const TensorDesc& src = DescOf(from);
  const TensorDesc& dst = DescOf(to);
  auto op = std::make_shared<ReorderOp>(src.shape, src.type, dst.type);
  const Execution execution = ExecutionOf(Pass::kForward);
  const KernelRequest request{
      op, execution, request_.threads, {{Arg::kSrc, src.layout}, {Arg::kDst, dst.layout}}, ""};
  std::string reasons;
  for (const std::string& backend :
       {request_.backend, std::string("onednn"), std::string("reference")}) {
    KernelOrRefusal offer = MakeKernel(backend, request);
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

// Takes a ReLU that alone reads the node's result into the node's own kernel, where the backend
// offers that.
bool Planner::FuseNext(int node, std::shared_ptr<const Op>& op, Draft& draft) {
  const std::vector<int> readers = graph_.Readers(graph_.nodes()[node].output);
  if (!request_.fuse || readers.size() != 1) return false;
  const GraphNode& next = graph_.nodes()[readers.front()];
  std::shared_ptr<const Op> fused = op->FusedWith(*next.op);
  if (fused == nullptr) return false;
  auto offer = TryOffer(fused, ExecutionOf(Pass::kForward), {});
  if (!std::holds_alternative<Offered>(offer)) return false;
  if (std::get<Offered>(offer).backend != request_.backend) return false;
  op = std::move(fused);
  draft.stage.fused.push_back(next.name);
  fused_into_[readers.front()] = node;
  return true;
}

// A node may write over its source when nothing else reads that, now or in the backward pass.
bool Planner::MayOverwriteSource(const GraphNode& node) const {
  if (!node.op->RunsInPlace(Pass::kForward) || node.inputs.size() != 1) return false;
  const GraphValue& source = graph_.values()[node.inputs.front()];
  if (source.producer < 0 || graph_.Readers(node.inputs.front()).size() != 1) return false;
  if (!request_.training) return true;
  const Op& producer = *graph_.nodes()[source.producer].op;
  return !producer.Find(ExecutionOf(Pass::kBackwardData), Arg::kDst) &&
         !producer.Find(ExecutionOf(Pass::kBackwardWeights), Arg::kDst) &&
         !node.op->Find(ExecutionOf(Pass::kBackwardData), Arg::kSrc);
}

void Planner::PlanForward() {
  const GraphValue& input = graph_.values().front();
  const DataType type = request_.type == DataType::kF64 ? DataType::kF64 : DataType::kF32;
  activations_.front() = {NewBuffer("input", {input.shape, type, Layout::Plain(input.shape.rank())},
                                    BufferRole::kInput, true)};
  for (int node = 0; node < static_cast<int>(graph_.nodes().size()); ++node) {
    if (fused_into_.count(node) == 0) PlanForwardNode(node);
  }
}

void Planner::PlanForwardNode(int index) {
  const GraphNode& node = graph_.nodes()[index];
  Draft draft;
  draft.node = index;
  std::shared_ptr<const Op> op = node.op;
  const bool fused = FuseNext(index, op, draft);
  const Execution execution = ExecutionOf(Pass::kForward);

  Layouts preferred;
  std::map<Arg, ValueId> sources;
  std::size_t next_source = 0;
  for (const Operand& operand : op->Operands(execution)) {
    const bool is_source = operand.arg == Arg::kSrc || operand.arg == Arg::kSum ||
                           (operand.arg >= Arg::kMultiple && operand.arg < Arg::kDiffMultiple);
    if (!is_source) continue;
    sources[operand.arg] = node.inputs[next_source++];
    preferred[operand.arg] = DescOf(activations_[sources[operand.arg]].front()).layout;
  }
  if (op->layout_preference() == LayoutPreference::kPlain) preferred.clear();
  Offered offered = Choose(node.name, op, execution, {preferred});

  const ValueId result =
      fused ? graph_.nodes()[graph_.Readers(node.output).front()].output : node.output;
  std::map<Arg, BufferId> bound;
  for (const KernelOperand& operand : offered.kernel->operands()) {
    if (const auto source = sources.find(operand.arg); source != sources.end()) {
      bound[operand.arg] = Require(activations_[source->second], operand.desc,
                                   fmt::format("{}.{}", node.name, NameOf(operand.arg)));
    } else if (IsParameter(*op, operand.arg)) {
      draft.parameters.insert(operand.arg);
      forward_parameter_.insert({{index, operand.arg}, operand.desc});
    } else if (operand.arg == Arg::kDst) {
      const bool in_place = MayOverwriteSource(node) && DescOf(bound.at(Arg::kSrc)) == operand.desc;
      const bool is_output = result == graph_.output();
      bound[operand.arg] =
          in_place && !is_output
              ? bound.at(Arg::kSrc)
              : NewBuffer(graph_.values()[result].name, operand.desc,
                          is_output ? BufferRole::kOutput : BufferRole::kActivation, is_output);
      activations_[result] = {bound[operand.arg]};
    } else {
      bound[operand.arg] = NewBuffer(fmt::format("{}.{}", node.name, NameOf(operand.arg)),
                                     operand.desc, BufferRole::kSaved);
      saved_[{index, operand.arg}] = bound[operand.arg];
    }
  }
  std::vector<std::string> fused_layers = std::move(draft.stage.fused);
  draft.stage = MakeStage(node.name, StagePass::kForward, op, execution, std::move(offered));
  draft.stage.fused = std::move(fused_layers);
  draft.stage.buffers = std::move(bound);
  drafts_.push_back(std::move(draft));
}

void Planner::PlanLoss() {
  const Shape& logits = graph_.shape(graph_.output());
  if (logits.rank() != 2) {
    throw PlanError(fmt::format("{} ends in {}: training needs logits of (N, classes)",
                                graph_.name(), logits.ToString()));
  }
  auto op = std::make_shared<SoftmaxCrossEntropyOp>(logits[0], logits[1]);
  // The loss stays in f32 whatever the network computes in (f64 in a check in double).
  Execution execution = ExecutionOf(Pass::kForward);
  if (execution.type != DataType::kF64) execution.type = DataType::kF32;
  Offered offered = Demand("loss", op, execution, {});
  std::map<Arg, BufferId> bound;
  for (const KernelOperand& operand : offered.kernel->operands()) {
    if (operand.arg == Arg::kSrc) {
      bound[operand.arg] = Require(activations_[graph_.output()], operand.desc, "loss.src");
    } else if (operand.arg == Arg::kDiffSrc) {
      bound[operand.arg] = NewBuffer("loss.diff_src", operand.desc, BufferRole::kGradient);
      gradients_[graph_.output()] = {bound[operand.arg]};
    } else if (operand.arg == Arg::kLabels) {
      bound[operand.arg] = NewBuffer("labels", operand.desc, BufferRole::kLabels, true);
    } else {
      bound[operand.arg] = NewBuffer(NameOf(operand.arg), operand.desc, BufferRole::kOutput, true);
    }
  }
  Draft draft;
  draft.stage = MakeStage("loss", StagePass::kLoss, op, execution, std::move(offered));
  draft.stage.buffers = std::move(bound);
  drafts_.push_back(std::move(draft));
}

void Planner::PlanBackward() {
  for (int node = static_cast<int>(graph_.nodes().size()) - 1; node >= 0; --node) {
    const GraphNode& layer = graph_.nodes()[node];
    if (graph_.Readers(layer.output).size() > 1) {
      throw PlanError(
          fmt::format("layer {} is read by several layers: a gradient that sums over "
                      "branches cannot be planned for training",
                      layer.name));
    }
    const bool wants_data = graph_.values()[layer.inputs.front()].producer >= 0;
    if (wants_data && layer.op->Has(ExecutionOf(Pass::kBackwardData))) {
      PlanBackwardNode(node, Pass::kBackwardData);
    }
    if (layer.op->Has(ExecutionOf(Pass::kBackwardWeights))) {
      PlanBackwardNode(node, Pass::kBackwardWeights);
    }
  }
}

// Gradients mirror the layouts of the forward pass; the gradient that exists keeps its own, and a
// parameter's gradient that of the parameter.
Layouts Planner::BackwardPreference(const GraphNode& node, const Execution& execution) const {
  const auto index = static_cast<int>(&node - graph_.nodes().data());
  Layouts preferred;
  for (const Operand& operand : node.op->Operands(execution)) {
    switch (operand.arg) {
      case Arg::kSrc: {
        preferred[operand.arg] = DescOf(activations_[node.inputs.front()].front()).layout;
        break;
      }
      case Arg::kDst: {
        preferred[operand.arg] = DescOf(activations_[node.output].front()).layout;
        break;
      }
      case Arg::kDiffSrc: {
        const Copies& source = activations_[node.inputs.front()];
        if (!source.empty()) preferred[operand.arg] = DescOf(source.front()).layout;
        break;
      }
      case Arg::kDiffDst: {
        // A pooling's maxima are laid out as its forward result; others take what is there.
        const bool follows = node.op->layout_preference() == LayoutPreference::kFollows;
        const Copies& copies = follows ? activations_[node.output] : gradients_[node.output];
        preferred[operand.arg] = DescOf(copies.front()).layout;
        break;
      }
      default: {
        const auto parameter = ParameterOfGradient(*node.op, operand.arg);
        const auto found = forward_parameter_.find({index, parameter.value_or(operand.arg)});
        if (found != forward_parameter_.end() && !found->second.layout.is_opaque()) {
          preferred[operand.arg] = found->second.layout;
        }
      }
    }
  }
  return preferred;
}

void Planner::PlanBackwardNode(int index, Pass pass) {
  const GraphNode& node = graph_.nodes()[index];
  const Execution execution = ExecutionOf(pass);
  const Layouts preferred = BackwardPreference(node, execution);
  Layouts without_parameters = preferred;
  for (const Parameter& parameter : node.op->Parameters()) {
    without_parameters.erase(parameter.arg);
    without_parameters.erase(parameter.gradient);
  }
  Offered offered = Choose(node.name, node.op, execution, {preferred, without_parameters});
  Draft draft;
  draft.node = index;
  draft.stage.name = node.name;
  for (const KernelOperand& operand : offered.kernel->operands()) {
    BindBackwardOperand(draft, node, operand);
  }
  std::map<Arg, BufferId> bound = std::move(draft.stage.buffers);
  draft.stage = MakeStage(node.name, StagePassOf(pass), node.op, execution, std::move(offered));
  draft.stage.buffers = std::move(bound);
  drafts_.push_back(std::move(draft));
}

void Planner::BindBackwardOperand(Draft& draft, const GraphNode& node,
                                  const KernelOperand& operand) {
  const std::string name = fmt::format("{}.{}", node.name, NameOf(operand.arg));
  auto& bound = draft.stage.buffers;
  switch (operand.arg) {
    case Arg::kSrc:
      bound[operand.arg] = Require(activations_[node.inputs.front()], operand.desc, name);
      return;
    case Arg::kDst:
      bound[operand.arg] = Require(activations_[node.output], operand.desc, name);
      return;
    case Arg::kDiffDst:
      bound[operand.arg] = Require(gradients_[node.output], operand.desc, name);
      return;
    case Arg::kDiffSrc: {
      const auto above = bound.find(Arg::kDiffDst);
      const bool in_place = node.op->RunsInPlace(Pass::kBackwardData) && above != bound.end() &&
                            DescOf(above->second) == operand.desc;
      bound[operand.arg] =
          in_place ? above->second : NewBuffer(name, operand.desc, BufferRole::kGradient);
      gradients_[node.inputs.front()] = {bound[operand.arg]};
      return;
    }
    default:
      break;
  }
  if (IsParameter(*node.op, operand.arg)) {
    draft.parameters.insert(operand.arg);
  } else if (const auto parameter = ParameterOfGradient(*node.op, operand.arg)) {
    gradient_parameter_.insert({{draft.node, *parameter}, operand.desc});
    draft.parameters.insert(operand.arg);
  } else {
    bound[operand.arg] = saved_.at({draft.node, operand.arg});
  }
}

// Lays out the parameters, and alike their gradients: a layer's in one block, so that one flat
// update serves them all.
void Planner::SettleParameters() {
  for (int index = 0; index < static_cast<int>(graph_.nodes().size()); ++index) {
    const GraphNode& node = graph_.nodes()[index];
    const std::vector<Parameter> specs = node.op->Parameters();
    if (specs.empty()) continue;
    std::vector<TensorDesc> descs;
    std::vector<std::size_t> offsets;
    std::size_t bytes = 0;
    for (const Parameter& spec : specs) {
      const auto& wanted = request_.training ? gradient_parameter_ : forward_parameter_;
      const TensorDesc& desc = wanted.at({index, spec.arg});
      descs.push_back(desc);
      offsets.push_back(bytes);
      bytes += (desc.bytes() + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
    }
    const DataType type = request_.type == DataType::kF64 ? DataType::kF64 : DataType::kF32;
    const Shape flat{static_cast<std::int64_t>(bytes / SizeOf(type))};
    const auto block = [&](std::string_view what, BufferRole role) {
      return NewBuffer(fmt::format("{}.{}", node.name, what), {flat, type, Layout::Plain(1)}, role,
                       true);
    };
    value_block_[index] = block("parameters", BufferRole::kParameter);
    if (request_.training) {
      gradient_block_[index] = block("gradients", BufferRole::kParameterGradient);
    }
    for (std::size_t i = 0; i < specs.size(); ++i) {
      const auto part = [&](BufferId parent, const std::string& what) {
        buffers_.push_back({fmt::format("{}.{}", node.name, what), descs[i], buffers_[parent].role,
                            true, parent, offsets[i]});
        return static_cast<BufferId>(buffers_.size()) - 1;
      };
      PlanParameter parameter{node.name, specs[i], part(value_block_[index], specs[i].name), -1};
      if (request_.training) {
        parameter.gradient = part(gradient_block_[index], NameOf(specs[i].gradient));
      }
      parameter_index_[{index, specs[i].arg}] = parameters_.size();
      parameters_.push_back(std::move(parameter));
    }
  }
}

// One number for all layers, which a schedule may write between steps.
BufferId Planner::LearningRate(const TensorDesc& desc) {
  if (learning_rate_ < 0) {
    learning_rate_ = NewBuffer("learning_rate", desc, BufferRole::kOptimizerState, true);
    buffers_[learning_rate_].initial = static_cast<double>(request_.optimizer.learning_rate);
  }
  return learning_rate_;
}

void Planner::PlanUpdates() {
  for (const auto& [index, block] : value_block_) {
    const std::string& layer = graph_.nodes()[index].name;
    const Optimizer& optimizer = request_.optimizer;
    const std::int64_t n = DescOf(block).shape.elements();
    std::shared_ptr<const Op> op;
    if (optimizer.kind == Optimizer::Kind::kAdam) {
      op = std::make_shared<AdamOp>(n, AdamSettings{optimizer.beta1, optimizer.beta2,
                                                    optimizer.epsilon, optimizer.weight_decay});
    } else {
      op = std::make_shared<SgdOp>(n, SgdSettings{optimizer.momentum, optimizer.weight_decay});
    }
    Execution execution = ExecutionOf(Pass::kForward);
    execution.type = DescOf(block).type;
    Offered offered = Demand(layer, op, execution, {});
    std::map<Arg, BufferId> bound;
    for (const KernelOperand& operand : offered.kernel->operands()) {
      if (operand.arg == Arg::kWeights) {
        bound[operand.arg] = block;
      } else if (operand.arg == Arg::kDiffWeights) {
        bound[operand.arg] = gradient_block_.at(index);
      } else if (operand.arg == Arg::kLearningRate) {
        bound[operand.arg] = LearningRate(operand.desc);
      } else {
        bound[operand.arg] = NewBuffer(fmt::format("{}.{}", layer, NameOf(operand.arg)),
                                       operand.desc, BufferRole::kOptimizerState, true);
      }
    }
    Draft draft;
    draft.stage = MakeStage(layer, StagePass::kUpdate, op, execution, std::move(offered));
    draft.stage.buffers = std::move(bound);
    drafts_.push_back(std::move(draft));
  }
}

// Binds parameters to the stages, with a reorder before the first stage that wants another layout
// than the parameter has.
std::vector<Stage> Planner::BindParameters() {
  std::map<std::pair<int, Arg>, Copies> copies;
  std::vector<Stage> stages;
  for (Draft& draft : drafts_) {
    for (const Arg arg : draft.parameters) {
      const Op& op = *graph_.nodes()[draft.node].op;
      if (const auto parameter = ParameterOfGradient(op, arg)) {
        draft.stage.buffers[arg] =
            parameters_[parameter_index_.at({draft.node, *parameter})].gradient;
        continue;
      }
      const TensorDesc& wanted = draft.stage.kernel->Find(arg)->desc;
      Copies& have = copies[{draft.node, arg}];
      if (have.empty()) have = {parameters_[parameter_index_.at({draft.node, arg})].value};
      const auto found = std::find_if(have.begin(), have.end(),
                                      [&](BufferId copy) { return DescOf(copy) == wanted; });
      if (found == have.end()) {
        const std::string name = fmt::format("{}.{}", draft.stage.name, NameOf(arg));
        have.push_back(NewBuffer(name, wanted, BufferRole::kActivation));
        stages.push_back(ReorderStage(name, have.front(), have.back()));
        draft.stage.buffers[arg] = have.back();
      } else {
        draft.stage.buffers[arg] = *found;
      }
    }
    stages.push_back(std::move(draft.stage));
  }
  return stages;
}

std::unique_ptr<Plan> Planner::Build() {
  PlanForward();
  if (request_.training) {
    PlanLoss();
    PlanBackward();
  }
  SettleParameters();
  if (request_.training) PlanUpdates();
  std::vector<Stage> stages = BindParameters();
  auto plan = std::make_unique<Plan>(graph_.name(), request_.threads, std::move(buffers_),
                                     std::move(stages), std::move(parameters_));
  if (request_.memory_limit != 0 && plan->bytes() > request_.memory_limit) {
    constexpr double kGiB = 1 << 30;
    throw PlanError(
        fmt::format("{} needs {:.2f} GiB and {:.2f} GiB may be used: take a smaller "
                    "--batch",
                    graph_.name(), static_cast<double>(plan->bytes()) / kGiB,
                    static_cast<double>(request_.memory_limit) / kGiB));
  }
  return plan;
}

}  // namespace

std::unique_ptr<Plan> MakePlan(const Graph& graph, const PlanRequest& request) {
  return Planner(graph, request).Build();
}

}  // namespace topdnn
