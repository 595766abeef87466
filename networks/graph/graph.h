// A network as a graph of operations on concrete shapes. Adding a node infers its shape, so the
// shapes of an existing graph always match.

#ifndef TOPDNN_NETWORKS_GRAPH_GRAPH_H_
#define TOPDNN_NETWORKS_GRAPH_GRAPH_H_

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "kernels/op/op.h"

namespace topdnn {

// Index of a value (a tensor that flows between operations) in Graph::values().
using ValueId = int;

struct GraphValue {
  std::string name;
  Shape shape;
  int producer = -1;  // index of the node that computes it; -1: an input
};

struct GraphNode {
  std::string name;
  std::shared_ptr<const Op> op;
  std::vector<ValueId> inputs;
  ValueId output;
};

struct GraphTotals {
  std::int64_t macs = 0;        // multiply-accumulates of one forward pass
  std::int64_t parameters = 0;  // trained parameters
};

class Graph {
 public:
  explicit Graph(std::string name) : name_(std::move(name)) {}

  // Adds an input, usually (N, C, H, W). The first one is the network's image. All inputs come
  // before the nodes; otherwise it throws std::invalid_argument.
  ValueId AddInput(const Shape& shape, std::string value_name = "input");
  // Adds a node with the sources `inputs`. Their shapes must be those of the operation's sources;
  // otherwise it throws std::invalid_argument with both shapes. Names are unique. The last node
  // that is added computes the network's output, unless SetOutputs names others.
  ValueId Add(std::string node_name, std::shared_ptr<const Op> op, std::vector<ValueId> inputs);

  // The network's outputs, at least one: results of nodes, possibly the same one twice.
  void SetOutputs(std::vector<ValueId> values) { outputs_ = std::move(values); }

  const std::string& name() const { return name_; }
  const std::vector<GraphNode>& nodes() const { return nodes_; }
  const std::vector<GraphValue>& values() const { return values_; }
  const Shape& shape(ValueId value) const { return values_[value].shape; }
  // Inputs are the first values.
  int inputs() const { return inputs_; }
  bool IsInput(ValueId value) const { return value < inputs_; }
  std::vector<ValueId> outputs() const;
  bool IsOutput(ValueId value) const;
  // The first output.
  ValueId output() const { return outputs_.empty() ? nodes_.back().output : outputs_.front(); }
  // The nodes that read a value, in order. The reference is valid until a node is added.
  const std::vector<int>& Readers(ValueId value) const { return readers_[value]; }
  // The node that computes a value. nullptr: an input. Valid until a node is added.
  const GraphNode* ProducerOf(ValueId value) const {
    const int producer = values_[static_cast<std::size_t>(value)].producer;
    return producer < 0 ? nullptr : &nodes_[static_cast<std::size_t>(producer)];
  }
  GraphTotals Totals() const;

 private:
  std::string name_;
  int inputs_ = 0;
  std::vector<GraphNode> nodes_;
  std::unordered_set<std::string> node_names_;
  std::vector<GraphValue> values_;
  std::vector<std::vector<int>> readers_;  // by value
  std::vector<ValueId> outputs_;           // empty: the last node's
};

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_GRAPH_GRAPH_H_
