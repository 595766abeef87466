#include "networks/onnx/importer.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "kernels/softmax/softmax.h"
#include "networks/onnx/node_import.h"

namespace topdnn {

namespace {

class Importer {
 public:
  Importer(const Model& model, const ImportOptions& options)
      : state_{model, options, Graph(options.name)} {}

  ImportedNetwork Run();

 private:
  void AddInput();
  void Define(const std::string& name, NamedValue value);
  void FindNeeded();
  bool IsNeeded(const ModelNode& node) const;
  void CheckReads(const ModelNode& node, int index) const;
  void ImportNode(int index);
  void Translate(const ModelNode& node, int index);
  void Refuse(int index, const std::string& why) {
    refused_[{Printable(state_.model.nodes[static_cast<std::size_t>(index)].op_type), why}]
        .push_back(NameOfNode(state_.model.nodes[static_cast<std::size_t>(index)], index));
  }
  void ThrowRefused() const;
  ImportedNetwork Finish();

  ImportState state_;
  std::set<std::string> needed_;  // values
  std::string input_name_, output_name_;
  // Nodes by operation and reason.
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> refused_;
};

void Importer::Define(const std::string& name, NamedValue value) {
  if (!state_.values.emplace(name, std::move(value)).second) {
    throw OnnxError(fmt::format("two values are named {}; the file is damaged", Printable(name)));
  }
}

// Adds the input. Its shape is the model's, with open dimensions set by the options.
void Importer::AddInput() {
  const auto& inputs = state_.model.inputs;
  if (inputs.size() != 1) {
    std::vector<std::string> names;
    names.reserve(inputs.size());
    for (const ModelInput& input : inputs) names.push_back(Printable(input.name));
    throw OnnxError(fmt::format("{} inputs ({}): only networks with one input are supported",
                                names.size(), fmt::join(names, ", ")));
  }
  const ModelInput& input = inputs.front();
  const ImportOptions& options = state_.options;
  input_name_ = input.name;
  const std::string what = fmt::format("input {}", Printable(input.name));
  if (input.is_double) {
    throw OnnxError(what + ": of double, and topdnn computes in f32; export the model in float");
  }
  if (!input.is_float) throw OnnxError(what + ": not of float");
  constexpr std::size_t kMaxDimensions = 6;
  if (!input.has_shape || input.dims.empty() || input.dims.size() > kMaxDimensions) {
    throw OnnxError(what + ": its shape must have 1 to 6 dimensions");
  }
  std::vector<std::int64_t> extents;
  bool size_settled = false;
  for (std::size_t d = 0; d < input.dims.size(); ++d) {
    const auto given = options.input && options.input->rank() == static_cast<int>(input.dims.size())
                           ? std::optional((*options.input)[static_cast<int>(d)])
                           : std::nullopt;
    if (d == 0) {
      const std::int64_t own = input.dims[0].value_or(options.open_batch);
      extents.push_back(options.batch.value_or(given.value_or(own)));
    } else if (input.dims[d] || given) {
      extents.push_back(input.dims[d] ? *input.dims[d] : *given);
    } else if (d >= 2 && options.open_size) {
      extents.push_back(*options.open_size);
      size_settled = true;
    } else {
      throw OnnxError(fmt::format(
          "{}: dimension {} is open; {}", what, d,
          d >= 2 ? "give the height and width by --size" : "export the model with a fixed one"));
    }
  }
  if (options.open_size && !size_settled) {
    throw OnnxError(what + ": its height and width are fixed; leave --size out");
  }
  const Shape shape(std::move(extents));
  if (options.input && shape != *options.input) {
    throw OnnxError(
        fmt::format("{} is {}, not {}", what, shape.ToString(), options.input->ToString()));
  }
  for (const std::int64_t extent : shape.extents()) {
    if (extent < 1) throw OnnxError(fmt::format("{}: invalid extent {}", what, extent));
  }
  const auto elements = static_cast<std::size_t>(shape.elements());
  if (options.memory_limit != 0 && elements > options.memory_limit / sizeof(float)) {
    throw OnnxError(
        fmt::format("{} of {} does not fit the memory that may be used", what, shape.ToString()));
  }
  Define(input.name, ImportedValue{state_.graph.AddInput(shape), shape});
}

// Finds the nodes that the output depends on, from the last node to the first. Other nodes are
// dropped.
void Importer::FindNeeded() {
  const Model& model = state_.model;
  if (model.outputs.size() != 1) {
    throw OnnxError(fmt::format("{} outputs: only networks with one output are supported",
                                model.outputs.size()));
  }
  output_name_ = model.outputs.front();
  needed_.insert(output_name_);
  state_.readers[output_name_].push_back(-1);
  for (int index = static_cast<int>(model.nodes.size()) - 1; index >= 0; --index) {
    const ModelNode& node = model.nodes[static_cast<std::size_t>(index)];
    if (!IsNeeded(node)) continue;
    for (const std::string& input : node.inputs) {
      if (input.empty()) continue;
      needed_.insert(input);
      state_.readers[input].push_back(index);
    }
  }
}

bool Importer::IsNeeded(const ModelNode& node) const {
  return std::any_of(node.outputs.begin(), node.outputs.end(),
                     [&](const std::string& output) { return needed_.count(output) > 0; });
}

// The nodes are sorted, so an input that no earlier node computes does not exist.
void Importer::CheckReads(const ModelNode& node, int index) const {
  for (const std::string& input : node.inputs) {
    if (input.empty() || state_.values.count(input) > 0) continue;
    throw OnnxError(fmt::format("{} ({}) reads {}, which no node computes; the file is damaged",
                                NameOfNode(node, index), Printable(node.op_type),
                                Printable(input)));
  }
}

void Importer::Translate(const ModelNode& node, int index) {
  bool all_constant = true;
  bool unknown = false;
  bool has_double = false;
  for (const std::string& input : node.inputs) {
    if (input.empty()) continue;
    const NamedValue& value = state_.values.at(input);
    const auto* constant = std::get_if<Constant>(&value);
    all_constant &= constant != nullptr;
    has_double |= constant != nullptr && (*constant)->type == DataType::kF64;
    unknown |= std::holds_alternative<std::monostate>(value);
  }
  const NodeTranslator* layer = FindTranslator(node.op_type);
  const NodeTranslator* fold = FindConstantTranslator(node.op_type);
  if (layer == nullptr && fold == nullptr) {
    throw UnsupportedNode("not among topdnn's operations");
  }
  if (unknown) return;  // the node of an input is already refused
  if (node.outputs.front().empty()) throw UnsupportedNode("its result has no name");
  NodeImport work(state_, index);
  if (all_constant && fold != nullptr) {
    (*fold)(work);
  } else if (has_double) {
    throw UnsupportedNode("of double, and topdnn computes in f32: export the model in float");
  } else if (layer != nullptr) {
    (*layer)(work);
  } else {
    throw UnsupportedNode("topdnn computes it on constants alone");
  }
}

void Importer::ImportNode(int index) {
  const ModelNode& node = state_.model.nodes[static_cast<std::size_t>(index)];
  CheckReads(node, index);
  for (const std::string& output : node.outputs) {
    if (!output.empty()) Define(output, std::monostate());
  }
  try {
    Translate(node, index);
  } catch (const UnsupportedNode& error) {
    Refuse(index, error.what());
  } catch (const std::invalid_argument& error) {  // an operation's own check
    Refuse(index, error.what());
  } catch (const std::overflow_error& error) {
    Refuse(index, error.what());
  }
}

void Importer::ThrowRefused() const {
  if (refused_.empty()) return;
  constexpr std::size_t kMaxNodesNamed = 200;
  std::string list;
  std::size_t named = 0, left = 0;
  for (const auto& [key, nodes] : refused_) {
    const std::size_t count = std::min(nodes.size(), kMaxNodesNamed - named);
    left += nodes.size() - count;
    named += count;
    if (count == 0) continue;
    const auto end = nodes.begin() + static_cast<std::ptrdiff_t>(count);
    list += fmt::format("{}{} at {} ({})", list.empty() ? "" : "; ", key.first,
                        fmt::join(nodes.begin(), end, ", "), key.second);
  }
  throw OnnxError(fmt::format("operations that are not supported: {}{}", list,
                              left == 0 ? "" : fmt::format("; and {} nodes more", left)));
}

ImportedNetwork Importer::Finish() {
  const auto found = state_.values.find(output_name_);
  if (found == state_.values.end()) {
    throw OnnxError(fmt::format("no node computes the output {}; the file is damaged",
                                Printable(output_name_)));
  }
  const auto* output = std::get_if<ImportedValue>(&found->second);
  if (output == nullptr || state_.graph.nodes().empty() || output->value != state_.graph.output()) {
    throw OnnxError("no layer leads from its input to its output");
  }
  if (!output->pad.none()) throw OnnxError("its last node is a Pad");
  if (output->quantized) throw OnnxError("its result is quantized; end it with a DequantizeLinear");
  if (const std::string why = UnpairedQuantization(state_.graph); !why.empty()) {
    throw OnnxError(why);
  }
  QuantizedNetwork network = IntegerGraph(
      {std::move(state_.graph), std::move(state_.parameters), std::move(state_.weight_scales)});
  return {std::move(network.graph), std::move(network.parameters), input_name_, output_name_,
          output->shape};
}

ImportedNetwork Importer::Run() {
  AddInput();
  FindNeeded();
  for (const auto& [name, tensor] : state_.model.initializers) Define(name, tensor);
  const auto& nodes = state_.model.nodes;
  // Constants first, because a bias may come after the product that it is added to.
  for (int index = 0; index < static_cast<int>(nodes.size()); ++index) {
    const ModelNode& node = nodes[static_cast<std::size_t>(index)];
    if (node.op_type == "Constant" && IsNeeded(node)) ImportNode(index);
  }
  for (int index = 0; index < static_cast<int>(nodes.size()); ++index) {
    const ModelNode& node = nodes[static_cast<std::size_t>(index)];
    if (node.op_type == "Constant" || !IsNeeded(node) || state_.absorbed.count(index) > 0) continue;
    ImportNode(index);
  }
  ThrowRefused();
  return Finish();
}

// The same graph without its last node, a softmax.
Graph WithoutLast(const Graph& graph) {
  Graph shorter(graph.name());
  shorter.AddInput(graph.shape(0));
  for (std::size_t i = 0; i + 1 < graph.nodes().size(); ++i) {
    const GraphNode& node = graph.nodes()[i];
    shorter.Add(node.name, node.op, node.inputs);
  }
  return shorter;
}

}  // namespace

ImportedNetwork ImportOnnx(std::string_view bytes, const ImportOptions& options) {
  try {
    const Model model = ParseModel(bytes, options.memory_limit);
    ImportedNetwork network = Importer(model, options).Run();
    const auto& nodes = network.graph.nodes();
    if (options.drop_final_softmax && nodes.size() > 1 &&
        dynamic_cast<const SoftmaxOp*>(nodes.back().op.get()) != nullptr) {
      network.graph = WithoutLast(network.graph);
      network.output = network.graph.shape(network.graph.output());
    }
    CheckParameters(network.graph, network.parameters);
    return network;
  } catch (const std::bad_alloc&) {
    throw OnnxError("not enough memory to read it; free some");
  } catch (const std::overflow_error& error) {
    throw OnnxError(error.what());
  } catch (const ParameterError& error) {
    throw OnnxError(error.what());
  }
}

}  // namespace topdnn
