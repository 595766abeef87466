// A network as a graph of operations on concrete shapes. Adding a node infers its shape, so the
// shapes of an existing graph always match.

#ifndef TOPDNN_NETWORKS_GRAPH_H_
#define TOPDNN_NETWORKS_GRAPH_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/op.h"

namespace topdnn {

// Index of a value (a tensor that flows between operations) in Graph::values().
using ValueId = int;

struct GraphValue {
  std::string name;
  Shape shape;
  int producer = -1;  // index of the node that computes it; -1: the input
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

  // Adds the input, (N, C, H, W). A graph has one.
  ValueId AddInput(const Shape& shape);
  // Adds a node with the sources `inputs`. Their shapes must be those of the operation's sources;
  // otherwise it throws std::invalid_argument with both shapes. Names are unique. The last node
  // that is added computes the network's output.
  ValueId Add(std::string node_name, std::shared_ptr<const Op> op, std::vector<ValueId> inputs);

  const std::string& name() const { return name_; }
  const std::vector<GraphNode>& nodes() const { return nodes_; }
  const std::vector<GraphValue>& values() const { return values_; }
  const Shape& shape(ValueId value) const { return values_[value].shape; }
  ValueId output() const { return nodes_.back().output; }
  // The nodes that read a value, in order.
  std::vector<int> Readers(ValueId value) const;
  GraphTotals Totals() const;

 private:
  std::string name_;
  std::vector<GraphNode> nodes_;
  std::vector<GraphValue> values_;
};

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_GRAPH_H_
