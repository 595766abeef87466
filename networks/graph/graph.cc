#include "networks/graph/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace topdnn {

namespace {

// Shapes of an operation's sources, in order: kSrc, or IndexedSrc(i).
std::vector<Shape> SourceShapes(const Op& op) {
  std::vector<Shape> shapes;
  for (const Operand& operand : op.Operands({Pass::kForward, true, DataType::kF32})) {
    if (operand.arg.role == Arg::kSrc || operand.arg == Arg::kSum) shapes.push_back(operand.shape);
  }
  return shapes;
}

}  // namespace

ValueId Graph::AddInput(const Shape& shape, std::string value_name) {
  if (!nodes_.empty()) {
    throw std::invalid_argument(fmt::format("input '{}' is added after a layer", value_name));
  }
  values_.push_back({std::move(value_name), shape, -1});
  readers_.emplace_back();
  return inputs_++;
}

std::vector<ValueId> Graph::outputs() const {
  return outputs_.empty() ? std::vector<ValueId>{output()} : outputs_;
}

bool Graph::IsOutput(ValueId value) const {
  if (outputs_.empty()) return !nodes_.empty() && value == output();
  return std::find(outputs_.begin(), outputs_.end(), value) != outputs_.end();
}

ValueId Graph::Add(std::string node_name, std::shared_ptr<const Op> op,
                   std::vector<ValueId> inputs) {
  if (node_names_.contains(node_name)) {
    throw std::invalid_argument(fmt::format("two layers are named '{}'", node_name));
  }
  const std::vector<Shape> expected = SourceShapes(*op);
  std::vector<Shape> given;
  given.reserve(inputs.size());
  for (const ValueId input : inputs) given.push_back(shape(input));
  if (expected != given) {
    const auto text = [](const std::vector<Shape>& shapes) {
      std::string joined;
      for (const Shape& shape : shapes) joined += " " + shape.ToString();
      return joined.empty() ? " none" : joined;
    };
    throw std::invalid_argument(fmt::format("layer '{}' ({}) needs sources of{}, not of{}",
                                            node_name, op->kind(), text(expected), text(given)));
  }
  const Shape output = op->Find({Pass::kForward, true, DataType::kF32}, Arg::kDst)->shape;
  const auto index = static_cast<int>(nodes_.size());
  for (const ValueId input : inputs) {
    // A node may read a value twice.
    if (readers_[input].empty() || readers_[input].back() != index) {
      readers_[input].push_back(index);
    }
  }
  node_names_.insert(node_name);
  values_.push_back({node_name, output, index});
  readers_.emplace_back();
  const auto value = static_cast<ValueId>(values_.size()) - 1;
  nodes_.push_back({std::move(node_name), std::move(op), std::move(inputs), value});
  return value;
}

GraphTotals Graph::Totals() const {
  GraphTotals totals;
  for (const GraphNode& node : nodes_) {
    totals.macs += node.op->WorkOf(Pass::kForward, DataType::kF32).macs;
    for (const Parameter& parameter : node.op->Parameters()) {
      totals.parameters += parameter.shape.elements();
    }
  }
  return totals;
}

}  // namespace topdnn
