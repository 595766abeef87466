// Makes a changed copy of a graph: values are named by their numbers in the old one.

#ifndef TOPDNN_NETWORKS_GRAPH_GRAPH_COPY_H_
#define TOPDNN_NETWORKS_GRAPH_GRAPH_COPY_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "networks/graph/graph.h"

namespace topdnn {

// Copies a graph layer by layer, beginning with its inputs.
class GraphCopy {
 public:
  explicit GraphCopy(const Graph& from)
      : graph_(from.name()), new_value_(from.values().size(), -1) {
    for (ValueId input = 0; input < from.inputs(); ++input) {
      Set(input,
          graph_.AddInput(from.shape(input), from.values()[static_cast<std::size_t>(input)].name));
    }
  }

  ValueId At(ValueId old) const { return new_value_[static_cast<std::size_t>(old)]; }
  void Set(ValueId old, ValueId value) { new_value_[static_cast<std::size_t>(old)] = value; }
  ValueId Add(const std::string& name, std::shared_ptr<const Op> op,
              const std::vector<ValueId>& old_inputs) {
    std::vector<ValueId> inputs;
    inputs.reserve(old_inputs.size());
    for (const ValueId input : old_inputs) inputs.push_back(At(input));
    return graph_.Add(name, std::move(op), std::move(inputs));
  }
  Graph& graph() { return graph_; }
  // The copy, whose outputs are `outputs`: values of the copy.
  Graph TakeWith(std::vector<ValueId> outputs) && {
    graph_.SetOutputs(std::move(outputs));
    return std::move(graph_);
  }

 private:
  Graph graph_;
  std::vector<ValueId> new_value_;
};

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_GRAPH_GRAPH_COPY_H_
