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
  for (const GraphNode& node : nodes_) {
    if (node.name == node_name) {
      throw std::invalid_argument(fmt::format("two layers are named '{}'", node_name));
    }
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
  values_.push_back({node_name, output, static_cast<int>(nodes_.size())});
  const auto value = static_cast<ValueId>(values_.size()) - 1;
  nodes_.push_back({std::move(node_name), std::move(op), std::move(inputs), value});
  return value;
}

std::vector<int> Graph::Readers(ValueId value) const {
  std::vector<int> readers;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const auto& inputs = nodes_[i].inputs;
    if (std::find(inputs.begin(), inputs.end(), value) != inputs.end()) {
      readers.push_back(static_cast<int>(i));
    }
  }
  return readers;
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
