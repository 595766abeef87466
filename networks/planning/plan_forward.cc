#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

#include "kernels/batchnorm/moving_average.h"
#include "kernels/quantization/integer_types.h"
#include "kernels/quantization/quantize.h"
#include "kernels/quantization/quantized_layer.h"
#include "kernels/softmax/cross_entropy.h"
#include "networks/planning/plan_steps.h"

namespace topdnn {

namespace {

class ForwardPlanner {
 public:
  explicit ForwardPlanner(PlanDraft& draft) : draft_(draft) {}

  void Plan() {
    for (ValueId value = 0; value < draft_.graph.inputs(); ++value) {
      const GraphValue& input = draft_.graph.values()[value];
      draft_.activations[value] = {draft_.NewBuffer(
          input.name, {input.shape, draft_.ParameterType(), Layout::Plain(input.shape.rank())},
          BufferRole::kInput, true)};
    }
    input_is_settled_ = draft_.graph.shape(0).rank() != 4;
    has_integers_ = HasIntegerKernels();
    FindLastReaders();
    for (std::size_t i = 0; i < draft_.fused.units.size(); ++i) PlanUnit(i);
  }

 private:
  const TensorDesc& OriginalDesc(ValueId value) const {
    return draft_.DescOf(draft_.activations[value].front());
  }

  static bool IsSource(Arg arg) { return arg.role == Arg::kSrc || arg == Arg::kSum; }

  // The type that a unit computes in. A quantization has its own type, a unit with a quantized
  // source has that source's, and others have the network's. Without kernels for integers all units
  // have the network's type: the reference has the same integers in f32.
  DataType TypeOf(const ForwardUnit& unit) const {
    if (!has_integers_) return draft_.request.type;
    const auto* quantize = dynamic_cast<const QuantizeOp*>(unit.op.get());
    const DataType type = quantize != nullptr ? quantize->quantization().type
                                              : OriginalDesc(unit.sources.front()).type;
    return IsQuantizedType(type) ? type : draft_.request.type;
  }

  // Whether integers have integer types in the plan: not on the reference backend, and not if it is
  // the only one for the first integer layer (or, without integer layers, the first quantization).
  bool HasIntegerKernels() const {
    if (draft_.request.backend == "reference") return false;
    const auto& units = draft_.fused.units;
    auto layer = std::find_if(units.begin(), units.end(), [](const ForwardUnit& unit) {
      return dynamic_cast<const QuantizedLayerOp*>(unit.op.get()) != nullptr;
    });
    if (layer == units.end()) {
      layer = std::find_if(units.begin(), units.end(), [](const ForwardUnit& unit) {
        return dynamic_cast<const QuantizeOp*>(unit.op.get()) != nullptr;
      });
    }
    if (layer == units.end()) return true;
    const auto* quantize = dynamic_cast<const QuantizeOp*>(layer->op.get());
    const DataType type = quantize != nullptr ? quantize->quantization().type : DataType::kU8;
    const Execution integers{Pass::kForward, false, type};
    const std::vector<std::string> backends = draft_.Backends();
    const bool has_kernel =
        std::any_of(backends.begin(), backends.end(), [&](const std::string& backend) {
          return !std::holds_alternative<Refusal>(draft_.Ask(backend, layer->op, integers, {}));
        });
    return has_kernel || std::find(backends.begin(), backends.end(), "reference") == backends.end();
  }

  void PlanUnit(std::size_t index) {
    const ForwardUnit& unit = draft_.fused.units[index];
    const std::string& name = draft_.NodeAt(unit.node).name;
    Execution execution = draft_.ExecutionOf(Pass::kForward);
    execution.type = TypeOf(unit);
    sources_.clear();
    std::size_t next = 0;
    for (const Operand& operand : unit.op->Operands(execution)) {
      if (IsSource(operand.arg)) sources_.emplace_back(operand.arg, unit.sources[next++]);
    }
    Offered offered = ChooseKernel(name, unit, execution);
    draft_.forward_workspaces[unit.node] = offered.workspaces;
    bound_.clear();
    parameters_.clear();
    // Binds sources first, because dst may reuse the memory of one.
    for (const auto& [arg, value] : sources_) {
      bound_[arg] = draft_.RequireLayout(draft_.activations[value], offered.kernel->Find(arg)->desc,
                                         fmt::format("{}.{}", name, NameOf(arg)));
    }
    for (const KernelOperand& operand : offered.kernel->operands()) {
      if (!IsSource(operand.arg)) Bind(index, operand);
    }
    execution = ExecutionOf(*offered.kernel, *unit.op, execution);
    if (execution.recomputes) draft_.recomputing.insert(unit.node);
    Stage stage =
        MakeStage(name, StagePass::kForward, unit.op, execution, std::move(offered), bound_);
    for (const int node : unit.fused) stage.fused.push_back(draft_.NodeAt(node).name);
    stage.not_fused = unit.not_fused;
    draft_.AddStage(unit.node, std::move(stage), parameters_);
    if (draft_.request.training) PlanRunningStatistics(unit);
  }

  // The first consumer of the image, the first input, settles its layout, so that no step reorders
  // it: row-major, or channels last, as TensorFlow feeds images. If the kernel's own layout is
  // another one, the input is row-major.
  Offered ChooseKernel(const std::string& name, const ForwardUnit& unit,
                       const Execution& execution) {
    const auto input = std::find_if(sources_.begin(), sources_.end(),
                                    [](const auto& source) { return source.second == 0; });
    if (input_is_settled_ || input == sources_.end()) {
      return draft_.Choose(name, unit.op, execution, PreferencesOf(unit));
    }
    input_is_settled_ = true;
    LayoutPreferences preferences = PreferencesOf(unit);
    for (Layouts& layouts : preferences.preferred) {
      for (const auto& [arg, value] : sources_) {
        if (value == 0) layouts.erase(arg);
      }
    }
    Offered own = draft_.Choose(name, unit.op, execution, preferences);
    TensorDesc& desc = draft_.buffers[draft_.activations.front().front()].desc;
    const Layout& layout = own.kernel->Find(input->first)->desc.layout;
    if (!layout.is_opaque()) {
      if (layout.IsPlainFor(desc.shape)) return own;
      if (layout.SameFor(desc.shape, Layout::ChannelsLast(desc.shape.rank()))) {
        desc.layout = Layout::ChannelsLast(desc.shape.rank());
        return own;
      }
    }
    return draft_.Choose(name, unit.op, execution, PreferencesOf(unit));
  }

  // Prefers the layouts of the sources. An operation that needs one layout for all may use the
  // layout of each source in turn.
  LayoutPreferences PreferencesOf(const ForwardUnit& unit) const {
    LayoutPreferences preferences;
    if (unit.op->Traits().layout_policy == LayoutPolicy::kPlain) return preferences;
    Layouts all;
    for (const auto& [arg, value] : sources_) all[arg] = OriginalDesc(value).layout;
    if (unit.sum) {
      Layouts with_sum = all;
      with_sum[Arg::kDst] = OriginalDesc(*unit.sum).layout;
      preferences.preferred.push_back(std::move(with_sum));
    }
    preferences.preferred.push_back(all);
    if (sources_.size() > 1) {
      for (const auto& [arg, layout] : all) preferences.preferred.push_back({{arg, layout}});
    }
    return preferences;
  }

  void Bind(std::size_t index, const KernelOperand& operand) {
    const ForwardUnit& unit = draft_.fused.units[index];
    const GraphNode& node = draft_.NodeAt(unit.node);
    const std::string name = fmt::format("{}.{}", node.name, NameOf(operand.arg));
    if (IsParameter(*unit.op, operand.arg)) {
      parameters_.insert(operand.arg);
      draft_.forward_parameters.insert({{unit.node, operand.arg}, operand.desc});
    } else if (operand.arg == Arg::kDst) {
      bound_[Arg::kDst] = Destination(index, operand.desc);
      draft_.activations[unit.result] = {bound_[Arg::kDst]};
    } else if (operand.direction == Direction::kIn) {
      // Inference normalizes with a running mean and variance.
      bound_[operand.arg] = draft_.NewStatistic(unit.node, operand.arg, operand.desc);
    } else if (operand.direction == Direction::kInOut) {  // a step count
      bound_[operand.arg] = draft_.NewBuffer(name, operand.desc, BufferRole::kState, true);
    } else {
      const BufferRole role =
          operand.arg == Arg::kWorkspace ? BufferRole::kSaved : BufferRole::kStatistic;
      bound_[operand.arg] = draft_.NewBuffer(name, operand.desc, role);
      draft_.saved[{unit.node, operand.arg}] = bound_[operand.arg];
    }
  }

  BufferId Destination(std::size_t index, const TensorDesc& desc) {
    const ForwardUnit& unit = draft_.fused.units[index];
    const bool is_output = IsOutput(draft_.graph, draft_.fused, unit.result);
    if (unit.sum) {
      return draft_.RequireLayout(draft_.activations[*unit.sum], desc,
                                  draft_.NodeAt(unit.node).name + ".sum");
    }
    if (!is_output && bound_.contains(Arg::kSum) &&
        draft_.DescOf(bound_.at(Arg::kSum)).bytes() == desc.bytes() &&
        MayOverwrite(sources_.back().second, index)) {
      return Retyped(bound_.at(Arg::kSum), desc);
    }
    if (!is_output && unit.op->Traits().forward_in_place) {
      const auto& [arg, value] = sources_.front();
      if (draft_.DescOf(bound_.at(arg)) == desc && MayOverwrite(value, index)) {
        return bound_.at(arg);
      }
    }
    return draft_.NewBuffer(draft_.graph.values()[unit.result].name, desc,
                            is_output ? BufferRole::kOutput : BufferRole::kActivation, is_output);
  }

  // A buffer of `desc` in the memory of `buffer`, which has as many bytes. The type may differ.
  BufferId Retyped(BufferId buffer, const TensorDesc& desc) {
    if (draft_.DescOf(buffer) == desc) return buffer;
    const BufferId retyped =
        draft_.NewBuffer(draft_.buffers[buffer].name + ".sum", desc, BufferRole::kActivation);
    draft_.buffers[retyped].parent = buffer;
    return retyped;
  }

  void FindLastReaders() {
    const auto& units = draft_.fused.units;
    last_reader_.assign(draft_.graph.values().size(), 0);
    for (std::size_t i = 0; i < units.size(); ++i) {
      for (const ValueId source : units[i].sources) last_reader_[source] = i;
      if (units[i].sum) last_reader_[*units[i].sum] = i;
    }
  }

  // Whether nothing reads the value after unit `index`: no other source of that unit, no later
  // unit, no backward pass. Input and output are never overwritten.
  bool MayOverwrite(ValueId value, std::size_t index) const {
    const auto& units = draft_.fused.units;
    if (draft_.graph.IsInput(value) || IsOutput(draft_.graph, draft_.fused, value)) return false;
    const auto& own = units[index].sources;
    if (std::count(own.begin(), own.end(), value) != 1) return false;
    if (last_reader_[value] > index) return false;
    return !draft_.request.training || !IsReadInBackward(draft_.graph, draft_.fused, value);
  }

  // Adds the running average of each statistic that training computes and inference reads.
  void PlanRunningStatistics(const ForwardUnit& unit) {
    for (const Operand& operand : unit.op->Operands({Pass::kForward, false, draft_.request.type})) {
      const auto batch = draft_.saved.find({unit.node, operand.arg});
      if (batch == draft_.saved.end()) continue;
      const TensorDesc desc = draft_.DescOf(batch->second);
      const std::string name =
          fmt::format("{}.running_{}", draft_.NodeAt(unit.node).name, NameOf(operand.arg));
      auto op = std::make_shared<MovingAverageOp>(desc.shape.elements());
      Execution execution = draft_.ExecutionOf(Pass::kForward);
      execution.type = desc.type;
      Offered offered = draft_.RequireKernel(name, op, execution);
      const BufferId running = draft_.NewStatistic(unit.node, operand.arg, desc);
      draft_.AddStage(-1, MakeStage(name, StagePass::kUpdate, op, execution, std::move(offered),
                                    {{Arg::kSrc, batch->second}, {Arg::kDst, running}}));
    }
  }

  PlanDraft& draft_;
  std::vector<std::size_t> last_reader_;  // by value: the last unit that reads it, or 0
  bool input_is_settled_ = false;
  bool has_integers_ = true;
  // Of the unit that is being planned.
  std::vector<std::pair<Arg, ValueId>> sources_;
  std::map<Arg, BufferId> bound_;
  std::set<Arg> parameters_;
};

}  // namespace

void PlanForward(PlanDraft& draft) { ForwardPlanner(draft).Plan(); }

void PlanLoss(PlanDraft& draft) {
  const ValueId output = draft.AliasOf(draft.graph.output());
  const Shape& logits = draft.graph.shape(output);
  if (logits.rank() < 2) {
    throw PlanError(
        fmt::format("{} ends in {}: training needs logits of (N, classes, ...); take --infer",
                    draft.graph.name(), logits.ToString()));
  }
  auto op = std::make_shared<SoftmaxCrossEntropyOp>(logits.elements() / logits[1], logits[1]);
  Execution execution = draft.ExecutionOf(Pass::kForward);
  execution.type = draft.ParameterType();
  // Channels last, the logits of each place of an image are a row of the loss.
  const TensorDesc places{logits, execution.type, Layout::ChannelsLast(logits.rank())};
  const auto as_rows = [&](BufferId buffer, const KernelOperand& operand, BufferRole role) {
    if (draft.DescOf(buffer) == operand.desc) return buffer;
    const BufferId rows =
        draft.NewBuffer(fmt::format("loss.{}.rows", NameOf(operand.arg)), operand.desc, role);
    draft.buffers[rows].parent = buffer;
    return rows;
  };
  Offered offered = draft.RequireKernel("loss", op, execution);
  std::map<Arg, BufferId> bound;
  for (const KernelOperand& operand : offered.kernel->operands()) {
    if (operand.arg == Arg::kSrc) {
      const BufferId src = draft.RequireLayout(draft.activations[output], places, "loss.src");
      bound[operand.arg] = as_rows(src, operand, BufferRole::kActivation);
    } else if (operand.arg == Arg::kDiffSrc) {
      const BufferId gradient = draft.NewBuffer("loss.diff_src", places, BufferRole::kGradient);
      bound[operand.arg] = as_rows(gradient, operand, BufferRole::kGradient);
      draft.gradients[output] = {gradient};
    } else if (operand.arg == Arg::kLabels) {
      bound[operand.arg] = draft.NewBuffer("labels", operand.desc, BufferRole::kLabels, true);
    } else {
      bound[operand.arg] =
          draft.NewBuffer(NameOf(operand.arg), operand.desc, BufferRole::kOutput, true);
    }
  }
  draft.AddStage(
      -1, MakeStage("loss", StagePass::kLoss, op, execution, std::move(offered), std::move(bound)));
}

}  // namespace topdnn
