#include "networks/parameters/cancelled_parameters.h"

#include <vector>

namespace topdnn {

namespace {

// Per value: whether a constant added to each of its channels never changes the output.
std::vector<bool> CancelledConstants(const Graph& graph) {
  std::vector<bool> cancelled(graph.values().size(), true);
  for (const ValueId output : graph.outputs()) cancelled[output] = false;
  for (auto node = graph.nodes().rbegin(); node != graph.nodes().rend(); ++node) {
    if (node->op->Traits().removes_channel_constants) continue;
    if (node->op->Traits().preserves_channel_constants && cancelled[node->output]) continue;
    for (const ValueId input : node->inputs) cancelled[input] = false;
  }
  return cancelled;
}

}  // namespace

std::set<std::pair<int, Arg>> CancelledParameters(const Graph& graph) {
  const std::vector<bool> cancelled = CancelledConstants(graph);
  std::set<std::pair<int, Arg>> found;
  for (int index = 0; index < static_cast<int>(graph.nodes().size()); ++index) {
    const GraphNode& node = graph.nodes()[index];
    if (!cancelled[node.output] || !node.op->Traits().adds_constant_last) continue;
    for (const Parameter& parameter : node.op->Parameters()) {
      if (parameter.arg == Arg::kBias || parameter.arg == Arg::kShift) {
        found.insert({index, parameter.arg});
      }
    }
  }
  return found;
}

}  // namespace topdnn
