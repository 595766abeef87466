#include "networks/onnx/model/node_order.h"

#include <fmt/format.h>

#include <cstddef>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace topdnn {

namespace {

// A depth-first search from each node in turn, with an explicit stack, because a chain of nodes in
// the wrong order may be as long as the file.
class NodeOrder {
 public:
  explicit NodeOrder(const std::vector<ModelNode>& nodes)
      : nodes_(nodes), states_(nodes.size(), State::kNew) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      for (const std::string& output : nodes[i].outputs) {
        if (!output.empty()) makers_.emplace(output, i);
      }
    }
  }

  std::vector<std::size_t> Find() && {
    for (std::size_t i = 0; i < nodes_.size(); ++i) Place(i);
    return std::move(order_);
  }

 private:
  enum class State { kNew, kOpen, kPlaced };
  struct Visit {
    std::size_t node;
    std::size_t next_input = 0;
  };

  void Place(std::size_t first) {
    if (states_[first] != State::kNew) return;
    states_[first] = State::kOpen;
    std::vector<Visit> stack = {{first}};
    while (!stack.empty()) {
      Visit& visit = stack.back();
      const ModelNode& node = nodes_[visit.node];
      if (visit.next_input == node.inputs.size()) {
        states_[visit.node] = State::kPlaced;
        order_.push_back(visit.node);
        stack.pop_back();
        continue;
      }
      const std::string& input = node.inputs[visit.next_input++];
      const auto maker = makers_.find(input);
      if (maker == makers_.end() || states_[maker->second] == State::kPlaced) continue;
      if (states_[maker->second] == State::kOpen) {
        throw OnnxError(fmt::format(
            "nodes depend on each other in a circle: {} ({}) reads {}, which depends "
            "on it; export the model again",
            node.name.empty() ? fmt::format("node {}", visit.node) : Printable(node.name),
            Printable(node.op_type), Printable(input)));
      }
      states_[maker->second] = State::kOpen;
      stack.push_back({maker->second});
    }
  }

  const std::vector<ModelNode>& nodes_;
  std::unordered_map<std::string_view, std::size_t>
      makers_;  // value -> the first node that makes it
  std::vector<State> states_;
  std::vector<std::size_t> order_;
};

}  // namespace

void SortNodes(std::vector<ModelNode>& nodes) {
  const std::vector<std::size_t> order = NodeOrder(nodes).Find();
  std::vector<ModelNode> sorted;
  sorted.reserve(nodes.size());
  for (const std::size_t node : order) sorted.push_back(std::move(nodes[node]));
  nodes = std::move(sorted);
}

}  // namespace topdnn
