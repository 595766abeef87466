#include "networks/onnx/import/importer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "kernels/softmax/softmax.h"
#include "networks/graph/graph_copy.h"
#include "networks/onnx/import/constant_graph.h"
#include "networks/onnx/import/input_shapes.h"
#include "networks/onnx/import/node_import.h"
#include "networks/onnx/import/operator_versions.h"

namespace topdnn {

namespace {

// f32 holds integers up to 2^24.
ImportedInput InputOf(const ModelInput& input) {
  ImportedInput result{input.name, TypeOfElements(input.type)};
  constexpr double kMostExact = 16777216;
  switch (input.type) {
    case kOnnxBool:
      result.least = 0;
      result.most = 1;
      break;
    case kOnnxUint8:
      result.least = 0;
      result.most = 255;
      break;
    case kOnnxInt8:
      result.least = -128;
      result.most = 127;
      break;
    case kOnnxInt32:
    case kOnnxInt64:
      result.least = -kMostExact;
      result.most = kMostExact;
      break;
    default:
      break;
  }
  return result;
}

class Importer {
 public:
  Importer(const Model& model, const ImportOptions& options)
      : state_{model, options, Graph(options.name)} {}

  ImportedNetwork Run();

 private:
  void ChooseOutputs();
  void AddInputs();
  void FindValuesOfFileBatch(const std::vector<const ModelInput*>& read, std::int64_t batch);
  void ImportNodes();
  void Define(const std::string& name, NamedValue value);
  void FindNeeded();
  bool IsNeeded(const ModelNode& node) const;
  void CheckReads(const ModelNode& node, int index) const;
  void ImportNode(int index);
  void Translate(const ModelNode& node, int index);
  void RequireResults(const NodeImport& node) const;
  void NoteComputedParameters(const NodeImport& node, std::size_t first_layer);
  void Refuse(int index, const std::string& why) {
    refused_[{Printable(state_.model.nodes[static_cast<std::size_t>(index)].op_type), why}]
        .push_back(NameOfNode(state_.model.nodes[static_cast<std::size_t>(index)], index));
  }
  void ThrowRefused() const;
  // An output of the model, and its value in the graph.
  ImportedOutput FindOutput(const std::string& name, ValueId& value) const;
  ImportedNetwork Finish();

  ImportState state_;
  std::set<std::string> needed_;  // values
  std::vector<ImportedInput> inputs_;
  std::vector<std::string> outputs_;
  // Nodes by operation and reason.
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> refused_;
};

void Importer::Define(const std::string& name, NamedValue value) {
  if (!state_.values.emplace(name, std::move(value)).second) {
    throw OnnxError(fmt::format("two values are named {}; the file is damaged", Printable(name)));
  }
}

// Adds the inputs that the outputs depend on, the image first. A model without such an input keeps
// its first one: the missing layers are the error then.
void Importer::AddInputs() {
  const auto& inputs = state_.model.inputs;
  if (inputs.empty()) throw OnnxError("it has no input; export the model with one");
  CheckGivenNames(inputs, state_.options);
  std::vector<const ModelInput*> read;
  for (const ModelInput& input : inputs) {
    if (inputs.size() == 1 || needed_.count(input.name) > 0) read.push_back(&input);
  }
  if (read.empty()) read.push_back(&inputs.front());
  constexpr std::size_t kImageDimensions = 4;
  const auto image = std::find_if(read.begin(), read.end(), [](const ModelInput* input) {
    return input->dims.size() == kImageDimensions;
  });
  if (image != read.end()) std::rotate(read.begin(), image, image + 1);
  const std::vector<Shape> shapes = SettleInputShapes(read, state_.options);
  FindValuesOfFileBatch(read, shapes.front()[0]);
  // Values are named after layers and inputs, and an export names its only output "output".
  state_.layers.insert("input");
  if (read.size() > 1) state_.layers.insert("output");
  for (std::size_t i = 0; i < read.size(); ++i) {
    const std::string requested = i == 0 ? "input" : Printable(read[i]->name);
    std::string name = requested;
    int& repeats = state_.repeats[requested];  // keeps the search linear for inputs of one name
    while (i > 0 && !state_.layers.insert(name).second) {
      name = ++repeats == 1 ? requested + "_input" : fmt::format("{}_input{}", requested, repeats);
    }
    ImportedValue value{state_.graph.AddInput(shapes[i], std::move(name)), shapes[i]};
    value.type = read[i]->type == kOnnxFloat16 ? kOnnxFloat : read[i]->type;
    const ImportedInput input = InputOf(*read[i]);
    if (input.type == DataType::kS32 || input.type == DataType::kS64) value.most = input.most;
    inputs_.push_back(input);
    Define(read[i]->name, std::move(value));
  }
}

// Imports the model with the batch that it fixes for the image, if that is another one.
void Importer::FindValuesOfFileBatch(const std::vector<const ModelInput*>& read,
                                     std::int64_t batch) {
  if (read.front()->dims.empty()) return;
  const std::optional<std::int64_t> own = read.front()->dims.front();
  if (!own || *own == batch) return;
  const ImportOptions options = WithBatch(state_.options, batch, *own);
  Importer with_own(state_.model, options);
  try {
    with_own.ImportNodes();
  } catch (const OnnxError&) {
    return;  // this import refuses the same node, or needs no such value
  }
  for (const auto& [name, value] : with_own.state_.values) {
    const auto* constant = std::get_if<Constant>(&value);
    constexpr std::int64_t kMostExtents = 32;  // larger constants are no shapes
    if (constant != nullptr && (*constant)->elements() <= kMostExtents) {
      state_.of_file_batch[name] = {(*constant)->shape, *constant};
    } else if (const auto* imported = std::get_if<ImportedValue>(&value)) {
      state_.of_file_batch[name] = {imported->shape};
    }
  }
}

// The chosen outputs, or all of the model.
void Importer::ChooseOutputs() {
  const std::vector<std::string>& own = state_.model.outputs;
  if (own.empty()) throw OnnxError("it has no output; export the model with one");
  for (const std::string& output : state_.options.outputs) {
    if (std::find(own.begin(), own.end(), output) == own.end()) {
      std::vector<std::string> names;
      names.reserve(own.size());
      for (const std::string& name : own) names.push_back(Printable(name));
      throw OnnxError(fmt::format("it has no output {}; there are: {}", Printable(output),
                                  fmt::join(names, ", ")));
    }
    if (std::find(outputs_.begin(), outputs_.end(), output) == outputs_.end()) {
      outputs_.push_back(output);
    }
  }
  if (outputs_.empty()) outputs_ = own;
}

// Finds the nodes that the outputs depend on, from the last node to the first. Other nodes are
// dropped.
void Importer::FindNeeded() {
  const Model& model = state_.model;
  for (const std::string& output : outputs_) {
    needed_.insert(output);
    state_.readers[output].push_back(-1);
  }
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
    throw OnnxError(
        fmt::format("{} ({}) reads {}, which no node computes and which is no input; if the graph "
                    "is a part of a larger one, declare it as an input, otherwise export it again",
                    NameOfNode(node, index), Printable(node.op_type), Printable(input)));
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
  CheckVersion(node);
  const NodeTranslator* layer = FindTranslator(node);
  const NodeTranslator* fold = FindConstantTranslator(node.op_type);
  if (layer == nullptr && fold == nullptr) {
    throw UnsupportedNode("not among topdnn's operations");
  }
  if (unknown) return;  // the node of an input is already refused
  NodeImport work(state_, index);
  if (all_constant && fold != nullptr) {
    (*fold)(work);
  } else if (all_constant) {
    ComputeOnConstants(work, *layer);
  } else if (has_double) {
    throw UnsupportedNode("of double, and topdnn computes in f32: export the model in float");
  } else if (layer != nullptr) {
    const std::size_t layers = state_.graph.nodes().size();
    (*layer)(work);
    RequireResults(work);
    NoteComputedParameters(work, layers);
  } else {
    throw UnsupportedNode("topdnn computes it on constants alone");
  }
}

// Without this, the nodes that read a result which the translator does not compute would be skipped
// without a word.
void Importer::RequireResults(const NodeImport& node) const {
  for (std::size_t o = 0; o < node.node().outputs.size(); ++o) {
    if (node.IsRead(o) &&
        std::holds_alternative<std::monostate>(state_.values.at(node.node().outputs[o]))) {
      throw UnsupportedNode(fmt::format("its result {}", o));
    }
  }
}

// Training would change such parameters instead of the constants that they are computed from.
void Importer::NoteComputedParameters(const NodeImport& node, std::size_t first_layer) {
  std::string computed_by = node.computed_bias();
  for (std::size_t i = 0; i < node.inputs(); ++i) {
    if (!node.IsConstant(i) || node.ConstantAt(i).computed_by.empty()) continue;
    computed_by = node.ConstantAt(i).computed_by;
  }
  if (computed_by.empty()) return;
  for (std::size_t i = first_layer; i < state_.graph.nodes().size(); ++i) {
    const GraphNode& layer = state_.graph.nodes()[i];
    if (!layer.op->Parameters().empty()) state_.computed_parameters[layer.name] = computed_by;
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
  throw OnnxError(fmt::format(
      "operations that are not supported: {}{}{}", list,
      left == 0 ? "" : fmt::format("; and {} nodes more", left),
      outputs_.size() == 1
          ? ""
          : fmt::format("; --onnx-output can choose those of the {} outputs that do not "
                        "need them",
                        outputs_.size())));
}

ImportedOutput Importer::FindOutput(const std::string& name, ValueId& value) const {
  const std::string printable = Printable(name);
  const auto found = state_.values.find(name);
  if (found == state_.values.end()) {
    throw OnnxError(fmt::format("no node computes the output {}; the file is damaged", printable));
  }
  const auto* output = std::get_if<ImportedValue>(&found->second);
  if (output == nullptr || state_.graph.IsInput(output->value)) {
    throw OnnxError(fmt::format(
        "no layer leads from its input to its output{}",
        outputs_.size() == 1 ? ""
                             : fmt::format(" {}; choose the others by --onnx-output", printable)));
  }
  if (!output->steps.empty()) {
    throw OnnxError("its result is of integers of unknown size; end it with a Cast to float");
  }
  if (!output->pad.none()) throw OnnxError("its last node is a Pad");
  if (output->quantized) throw OnnxError("its result is quantized; end it with a DequantizeLinear");
  value = output->value;
  // Floating-point numbers are computed in f32, and written in the type that the model declares.
  const auto declared = state_.model.output_types.find(name);
  const bool half = output->type == kOnnxFloat && declared != state_.model.output_types.end() &&
                    declared->second == kOnnxFloat16;
  return {name, output->shape, half ? DataType::kF16 : TypeOfElements(output->type)};
}

ImportedNetwork Importer::Finish() {
  std::vector<ImportedOutput> outputs;
  std::vector<ValueId> values(outputs_.size(), -1);
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    outputs.push_back(FindOutput(outputs_[i], values[i]));
  }
  state_.graph.SetOutputs(std::move(values));
  if (const std::string why = UnpairedQuantization(state_.graph); !why.empty()) {
    throw OnnxError(why);
  }
  QuantizedNetwork network = IntegerGraph(
      {std::move(state_.graph), std::move(state_.parameters), std::move(state_.weight_scales)});
  return {std::move(network.graph), std::move(network.parameters), inputs_, std::move(outputs),
          std::move(state_.computed_parameters)};
}

void Importer::ImportNodes() {
  ChooseOutputs();
  FindNeeded();
  AddInputs();
  for (const auto& [name, tensor] : state_.model.initializers) Define(name, tensor);
  const auto& nodes = state_.model.nodes;
  // Constants first, because a bias may come after the product that it is added to.
  for (int index = 0; index < static_cast<int>(nodes.size()); ++index) {
    const ModelNode& node = nodes[static_cast<std::size_t>(index)];
    if (node.op_type == "Constant" && IsNeeded(node)) ImportNode(index);
  }
  for (int index = 0; index < static_cast<int>(nodes.size()); ++index) {
    const ModelNode& node = nodes[static_cast<std::size_t>(index)];
    if (node.op_type == "Constant" || !IsNeeded(node)) continue;
    if (state_.absorbed.count(index) == 0) {
      ImportNode(index);
      continue;
    }
    // Its result is that of the node that it is part of, or unknown if that node is refused.
    for (const std::string& output : node.outputs) {
      state_.values.try_emplace(output, std::monostate());
    }
  }
}

ImportedNetwork Importer::Run() {
  ImportNodes();
  ThrowRefused();
  return Finish();
}

// The same graph without its last node, a softmax.
Graph WithoutLast(const Graph& graph) {
  GraphCopy shorter(graph);
  for (std::size_t i = 0; i + 1 < graph.nodes().size(); ++i) {
    const GraphNode& node = graph.nodes()[i];
    shorter.Set(node.output, shorter.Add(node.name, node.op, node.inputs));
  }
  return std::move(shorter.graph());
}

ImportedNetwork Import(const ModelBytes& bytes, const ImportOptions& options) {
  try {
    const Model model = ParseModel(bytes, options.memory_limit, options.folder);
    ImportedNetwork network = Importer(model, options).Run();
    const auto& nodes = network.graph.nodes();
    if (options.drop_final_softmax && nodes.size() > 1 && network.outputs.size() == 1 &&
        network.graph.IsOutput(nodes.back().output) &&
        dynamic_cast<const SoftmaxOp*>(nodes.back().op.get()) != nullptr) {
      network.graph = WithoutLast(network.graph);
      network.outputs.front().shape = network.graph.shape(network.graph.output());
    }
    CheckParameters(network.graph, network.parameters);
    return network;
  } catch (const std::overflow_error& error) {
    throw OnnxError(error.what());
  } catch (const ParameterError& error) {
    throw OnnxError(error.what());
  }
}

}  // namespace

ImportedNetwork ImportOnnx(std::string_view bytes, const ImportOptions& options) {
  return Import({.memory = bytes.data(), .size = bytes.size()}, options);
}

ImportedNetwork ImportOnnxFile(int file, std::size_t size, const ImportOptions& options) {
  return Import({.size = size, .file = file}, options);
}

}  // namespace topdnn
