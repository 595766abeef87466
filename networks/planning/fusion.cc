#include "networks/planning/fusion.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace topdnn {

namespace {

constexpr Pass kBackwardPasses[] = {Pass::kBackwardData, Pass::kBackwardWeights};

bool BackwardReads(const Op& op, Arg arg) {
  return std::any_of(std::begin(kBackwardPasses), std::end(kBackwardPasses), [&](Pass pass) {
    return op.Find({pass}, arg) || op.Find(Recomputing({pass}), arg);
  });
}

constexpr const char* kResultIsOutput =
    "its result is the network's output, which has its own memory";

class Fuser {
 public:
  Fuser(const Graph& graph, const PlanRequest& request, const FusionCheck& refusal)
      : graph_(graph),
        request_(request),
        refusal_(refusal),
        readers_(graph.values().size()),
        consumed_(graph.nodes().size(), false),
        computed_(graph.values().size(), false) {}

  FusedGraph Fuse() && {
    DropIdentities();
    CollectReaders();
    for (ValueId input = 0; input < graph_.inputs(); ++input) computed_[input] = true;
    for (int node = 0; node < static_cast<int>(graph_.nodes().size()); ++node) {
      if (consumed_[node]) continue;
      ForwardUnit unit = UnitOf(node);
      computed_[unit.result] = true;
      result_.units.push_back(std::move(unit));
    }
    return std::move(result_);
  }

 private:
  const GraphNode& NodeAt(int index) const { return graph_.nodes()[index]; }
  ValueId AliasOf(ValueId value) const { return result_.alias_of[value]; }

  void DropIdentities() {
    result_.alias_of.resize(graph_.values().size());
    std::iota(result_.alias_of.begin(), result_.alias_of.end(), 0);
    for (int node = 0; node < static_cast<int>(graph_.nodes().size()); ++node) {
      if (!NodeAt(node).op->Traits().copies_in_inference) continue;
      if (request_.training && request_.dropout) continue;
      const bool input_is_output = graph_.IsOutput(NodeAt(node).output) &&
                                   graph_.IsInput(AliasOf(NodeAt(node).inputs.front()));
      // The input and the output of a network are two pieces of memory: here the layer copies.
      if (input_is_output && !request_.training) continue;
      result_.alias_of[NodeAt(node).output] = AliasOf(NodeAt(node).inputs.front());
      consumed_[node] = true;
      result_.dropped.push_back(
          fmt::format("{}: {}", NodeAt(node).name,
                      request_.training ? "dropout is off" : "inference drops nothing"));
    }
  }

  void CollectReaders() {
    for (int node = 0; node < static_cast<int>(graph_.nodes().size()); ++node) {
      if (consumed_[node]) continue;
      for (const ValueId input : NodeAt(node).inputs) readers_[AliasOf(input)].push_back(node);
    }
  }

  ForwardUnit UnitOf(int node) {
    ForwardUnit unit;
    unit.node = node;
    unit.op = NodeAt(node).op;
    for (const ValueId input : NodeAt(node).inputs) unit.sources.push_back(AliasOf(input));
    unit.result = NodeAt(node).output;
    consumed_[node] = true;
    while (request_.fuse && FuseNext(unit)) {
    }
    return unit;
  }

  // Adds the next layer to the unit if a kernel can compute both. Otherwise records why not.
  bool FuseNext(ForwardUnit& unit) {
    const std::vector<int>& readers = readers_[unit.result];
    if (readers.empty() || unit.own_backward) return false;
    const int index = readers.front();
    const GraphNode& next = NodeAt(index);
    // A unit keeps the parameters of one folded layer for each of its two kernels.
    const std::optional<int>& folded = unit.chained ? unit.chained_norm : unit.norm;
    std::shared_ptr<const Op> fused =
        request_.training || folded ? nullptr : unit.op->FoldedWith(*next.op);
    const bool folds = fused != nullptr;
    if (!folds) fused = unit.op->FusedWith(*next.op);
    const bool chains = fused == nullptr && !request_.training;
    if (chains) fused = unit.op->ChainedWith(*next.op);
    if (fused == nullptr || !IsAllowed(unit, *next.op)) return false;
    // The result of the first layer, which a gradient of the next one reads, is not kept.
    if (request_.training && BackwardReads(*next.op, Arg::kSrc)) return false;
    const bool adds = next.inputs.size() > 1;
    std::string why;
    if (readers.size() > 1 || IsOutput(graph_, result_, unit.result)) {
      why = "its source is read elsewhere too";
    } else if (unit.sum && IsOutput(graph_, result_, next.output)) {
      why = kResultIsOutput;
    } else if (adds) {
      why = AdditionRefusal(unit, next, index);
    }
    if (why.empty()) why = refusal_(NodeAt(unit.node).op, fused).value_or("");
    if (!why.empty()) {
      // (Two layers with parameters have two stages as a rule, so that reason is not reported.)
      if (!chains) unit.not_fused = fmt::format("{}: {}", next.name, why);
      return false;
    }
    if (adds) unit.sum = OtherSource(unit, next);
    if (folds) (unit.chained ? unit.chained_norm : unit.norm) = index;
    if (chains) unit.chained = index;
    unit.own_backward = request_.training && request_.rules == nullptr &&
                        fused->Find({Pass::kBackwardData}, Arg::kWorkspace) &&
                        !unit.op->Find({Pass::kBackwardData}, Arg::kWorkspace);
    unit.op = std::move(fused);
    unit.fused.push_back(index);
    unit.result = next.output;
    consumed_[index] = true;
    return true;
  }

  // Whether the rules of the plan, if there are any, fuse the next layer, too.
  bool IsAllowed(const ForwardUnit& unit, const Op& next) const {
    if (request_.rules == nullptr) return true;
    std::vector<std::string_view> kinds;
    for (const int node : unit.fused) kinds.push_back(RuleKindOf(*NodeAt(node).op));
    kinds.push_back(RuleKindOf(next));
    return request_.rules->Fuses(*NodeAt(unit.node).op, kinds, request_.training);
  }

  ValueId OtherSource(const ForwardUnit& unit, const GraphNode& add) const {
    const ValueId first = AliasOf(add.inputs[0]);
    return first == unit.result ? AliasOf(add.inputs[1]) : first;
  }

  // The reason why a kernel cannot add the other source, or nothing. Such a kernel finds the other
  // source in its dst and overwrites it.
  std::string AdditionRefusal(const ForwardUnit& unit, const GraphNode& add, int index) const {
    const ValueId other = OtherSource(unit, add);
    if (other == unit.result) return "both sources are the same value";
    if (graph_.IsInput(other)) {
      return "its other source is the network's input, which must not be overwritten";
    }
    if (IsOutput(graph_, result_, other)) {
      return "its other source is the network's output, which must not be overwritten";
    }
    if (!computed_[other]) return "its other source is computed later";
    if (IsOutput(graph_, result_, add.output)) return kResultIsOutput;
    if (std::find(unit.sources.begin(), unit.sources.end(), other) != unit.sources.end()) {
      return "its other source is read by the same kernel";
    }
    for (const int reader : readers_[other]) {
      if (reader != index && !consumed_[reader]) return "its other source is read later";
    }
    if (request_.training && IsReadInBackward(graph_, result_, other)) {
      return "its other source is read in the backward pass";
    }
    return "";
  }

  const Graph& graph_;
  const PlanRequest& request_;
  const FusionCheck& refusal_;
  std::vector<std::vector<int>> readers_;  // per value that is not an alias: nodes that read it
  std::vector<bool> consumed_;             // per node: in a unit, or dropped
  std::vector<bool> computed_;             // per value: computed by the units so far
  FusedGraph result_;
};

}  // namespace

bool IsOutput(const Graph& graph, const FusedGraph& fused, ValueId value) {
  const std::vector<ValueId> outputs = graph.outputs();
  return std::any_of(outputs.begin(), outputs.end(),
                     [&](ValueId output) { return fused.alias_of[output] == value; });
}

FusedGraph FuseGraph(const Graph& graph, const PlanRequest& request, const FusionCheck& refusal) {
  return Fuser(graph, request, refusal).Fuse();
}

std::vector<BackwardOp> BackwardOps(const Graph& graph, const FusedGraph& fused,
                                    const ForwardUnit& unit) {
  const auto sources_of = [&](int node) {
    std::vector<ValueId> sources;
    for (const ValueId input : graph.nodes()[node].inputs) {
      sources.push_back(fused.alias_of[input]);
    }
    return sources;
  };
  if (unit.own_backward) return {{unit.node, unit.op, sources_of(unit.node), unit.result}};
  std::vector<BackwardOp> ops;
  for (auto node = unit.fused.rbegin(); node != unit.fused.rend(); ++node) {
    const GraphNode& layer = graph.nodes()[*node];
    ops.push_back({*node, layer.op, sources_of(*node), layer.output});
  }
  const GraphNode& first = graph.nodes()[unit.node];
  ops.push_back({unit.node, first.op, sources_of(unit.node), first.output});
  return ops;
}

bool IsReadInBackward(const Graph& graph, const FusedGraph& fused, ValueId value) {
  for (const GraphNode& node : graph.nodes()) {
    if (fused.alias_of[node.output] != node.output) continue;
    if (node.output == value && BackwardReads(*node.op, Arg::kDst)) return true;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (fused.alias_of[node.inputs[i]] != value) continue;
      if (BackwardReads(*node.op, Arg::kSrc)) return true;
      if (BackwardReads(*node.op, IndexedSrc(static_cast<int>(i)))) return true;
    }
  }
  return false;
}

}  // namespace topdnn
