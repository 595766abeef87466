#include "networks/onnx/model/function_calls.h"

#include <fmt/format.h>

#include <cstddef>
#include <utility>

namespace topdnn {

namespace {

class Calls {
 public:
  explicit Calls(const ModelFunctions& functions) : functions_(functions) {}

  void Add(ModelNode node, int depth) {
    const auto function = functions_.find(node.op_type);
    if (function == functions_.end()) {
      if (nodes_.size() >= kMaxNodes) {
        throw OnnxError(fmt::format("more than {} nodes with those of its functions", kMaxNodes));
      }
      nodes_.push_back(std::move(node));
      return;
    }
    constexpr int kMostDepth = 64;
    if (depth == kMostDepth || ++calls_ > kMaxNodes) {
      throw OnnxError(
          fmt::format("its function {} calls itself, or too many others", Printable(node.op_type)));
    }
    Replace(node, function->second, depth);
  }

  std::vector<ModelNode> Take() && { return std::move(nodes_); }

 private:
  void Replace(const ModelNode& call, const ModelFunction& function, int depth) {
    const std::string prefix = fmt::format("{}#{}/", Printable(call.op_type), calls_);
    std::map<std::string, std::string> names = {{"", ""}};
    for (std::size_t i = 0; i < function.inputs.size(); ++i) {
      names[function.inputs[i]] = i < call.inputs.size() ? call.inputs[i] : "";
    }
    for (std::size_t i = 0; i < function.outputs.size(); ++i) {
      if (i < call.outputs.size() && !call.outputs[i].empty()) {
        names[function.outputs[i]] = call.outputs[i];
      }
    }
    const auto rename = [&](std::string& name) {
      name = names.try_emplace(name, prefix + name).first->second;
    };
    for (const ModelNode& of_function : function.nodes) {
      CountBytes(of_function);
      ModelNode node = of_function;
      for (std::string& input : node.inputs) rename(input);
      for (std::string& output : node.outputs) rename(output);
      const std::string& caller = call.name.empty() ? prefix : call.name + "/";
      node.name = caller + (node.name.empty() ? node.op_type : node.name);
      SettleAttributes(call, function, node);
      Add(std::move(node), depth + 1);
    }
  }

  // Each call copies the lists of the attributes (not the tensors).
  void CountBytes(const ModelNode& node) {
    constexpr std::size_t kMostBytes = std::size_t{256} << 20;
    for (const auto& [name, attribute] : node.attributes) {
      bytes_ += name.size() + (attribute.s ? attribute.s->size() : 0) +
                attribute.ints.size() * sizeof(attribute.ints[0]) +
                attribute.floats.size() * sizeof(attribute.floats[0]);
    }
    if (bytes_ <= kMostBytes) return;
    throw OnnxError(fmt::format("the calls of its functions copy more than {} MiB of attributes",
                                kMostBytes >> 20));
  }

  static void SettleAttributes(const ModelNode& call, const ModelFunction& function,
                               ModelNode& node) {
    for (auto attribute = node.attributes.begin(); attribute != node.attributes.end();) {
      if (attribute->second.of_call.empty()) {
        ++attribute;
        continue;
      }
      const auto given = call.attributes.find(attribute->second.of_call);
      const auto otherwise = function.defaults.find(attribute->second.of_call);
      if (given != call.attributes.end()) {
        (attribute++)->second = given->second;
      } else if (otherwise != function.defaults.end()) {
        (attribute++)->second = otherwise->second;
      } else {
        attribute = node.attributes.erase(attribute);
      }
    }
  }

  const ModelFunctions& functions_;
  std::size_t calls_ = 0;
  std::size_t bytes_ = 0;  // of copied attributes
  std::vector<ModelNode> nodes_;
};

}  // namespace

std::vector<ModelNode> WithoutCalls(const std::vector<ModelNode>& nodes,
                                    const ModelFunctions& functions) {
  if (functions.empty()) return nodes;
  Calls calls(functions);
  for (const ModelNode& node : nodes) calls.Add(node, 0);
  return std::move(calls).Take();
}

}  // namespace topdnn
