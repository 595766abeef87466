#include "tests/networks/onnx/node_case.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <stdexcept>

#include "networks/onnx/model/model.h"

namespace topdnn {

namespace {

namespace fs = std::filesystem;

template <typename Message>
Message Parse(const fs::path& path) {
  Message message;
  std::ifstream file(path, std::ios::binary);
  if (!file || !message.ParseFromIstream(&file)) {
    throw std::runtime_error(
        fmt::format("{} is missing or broken: reinstall libonnx-testdata", path.string()));
  }
  return message;
}

DataType TypeOf(int onnx_type) {
  switch (onnx_type) {
    case onnx::TensorProto::FLOAT:
      return DataType::kF32;
    case onnx::TensorProto::DOUBLE:
      return DataType::kF64;
    case onnx::TensorProto::FLOAT16:
      return DataType::kF16;
    case onnx::TensorProto::BFLOAT16:
      return DataType::kBF16;
    case onnx::TensorProto::INT64:
      return DataType::kS64;
    case onnx::TensorProto::INT32:
      return DataType::kS32;
    case onnx::TensorProto::INT8:
      return DataType::kS8;
    case onnx::TensorProto::UINT8:
    case onnx::TensorProto::BOOL:
      return DataType::kU8;
    default:
      throw std::runtime_error(fmt::format("ONNX type {} has no counterpart in topdnn", onnx_type));
  }
}

}  // namespace

OnnxTensor ReadTensor(const fs::path& path) {
  const auto proto = Parse<onnx::TensorProto>(path);
  OnnxTensor tensor;
  tensor.shape = Shape(std::vector<std::int64_t>(proto.dims().begin(), proto.dims().end()));
  tensor.type = TypeOf(proto.data_type());
  const auto elements = static_cast<std::size_t>(tensor.shape.elements());
  if (!proto.raw_data().empty() || elements == 0) {
    if (proto.raw_data().size() != elements * SizeOf(tensor.type)) {
      throw std::runtime_error(fmt::format("{} holds {} bytes, not {} elements of {}",
                                           path.string(), proto.raw_data().size(), elements,
                                           NameOf(tensor.type)));
    }
    const TensorDesc desc{tensor.shape, tensor.type, Layout::Plain(tensor.shape.rank())};
    if (elements > 0) tensor.values = ToDouble(desc, proto.raw_data().data());
    return tensor;
  }
  // Each type has its own list of elements; the other lists are empty.
  for (const float v : proto.float_data()) tensor.values.push_back(static_cast<double>(v));
  for (const double v : proto.double_data()) tensor.values.push_back(v);
  for (const std::int32_t v : proto.int32_data()) tensor.values.push_back(v);
  for (const std::int64_t v : proto.int64_data()) {
    tensor.values.push_back(static_cast<double>(v));
  }
  if (tensor.values.size() != elements) {
    throw std::runtime_error(fmt::format("{} holds {} elements, not the {} of its shape",
                                         path.string(), tensor.values.size(), elements));
  }
  return tensor;
}

namespace {

void ReadAttributes(const onnx::NodeProto& node, NodeCase& out) {
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    switch (attribute.type()) {
      case onnx::AttributeProto::INT:
        out.ints[attribute.name()] = attribute.i();
        break;
      case onnx::AttributeProto::FLOAT:
        out.floats[attribute.name()] = attribute.f();
        break;
      case onnx::AttributeProto::STRING:
        out.strings[attribute.name()] = attribute.s();
        break;
      case onnx::AttributeProto::INTS:
        out.int_lists[attribute.name()] = {attribute.ints().begin(), attribute.ints().end()};
        break;
      default:
        throw std::runtime_error(fmt::format("attribute {} of {} has an unsupported type",
                                             attribute.name(), node.op_type()));
    }
  }
}

// The tensors of a node's inputs or outputs, read from files numbered in the order of the graph's
// list.
template <typename Names, typename Infos>
std::vector<std::optional<OnnxTensor>> ReadTensors(const Names& names, const Infos& infos,
                                                   const fs::path& data_set,
                                                   const std::string& stem) {
  std::vector<std::optional<OnnxTensor>> tensors;
  for (const std::string& name : names) {
    tensors.emplace_back();
    for (int i = 0; i < infos.size(); ++i) {
      if (!name.empty() && infos[i].name() == name) {
        tensors.back() = ReadTensor(data_set / fmt::format("{}_{}.pb", stem, i));
      }
    }
  }
  return tensors;
}

bool ComputesNothing(const onnx::NodeProto& node) {
  static const std::set<std::string> operations = {"Cast",    "Dropout", "Flatten",   "Identity",
                                                   "Reshape", "Squeeze", "Transpose", "Unsqueeze"};
  static const std::set<std::string> of_several = {"Max", "Mean", "Min", "Sum"};
  const bool is_noop =
      std::any_of(node.attribute().begin(), node.attribute().end(),
                  [](const auto& one) { return one.name() == "noop_with_empty_axes"; });
  return is_noop || operations.contains(node.op_type()) ||
         (node.input_size() == 1 && of_several.contains(node.op_type()));
}

// A network needs a layer that computes: a Clip without bounds, before the node.
void InsertClip(onnx::GraphProto& graph) {
  graph.mutable_node(0)->set_input(0, "clipped");
  onnx::NodeProto& clip = *graph.add_node();
  clip.set_op_type("Clip");
  clip.add_input(graph.input(0).name());
  clip.add_output("clipped");
  graph.mutable_node()->SwapElements(0, 1);
}

// The cases in double become cases in float: their numbers are exact in float, or rounded.
void RoundToFloat(onnx::TensorProto& tensor) {
  if (tensor.data_type() != onnx::TensorProto::DOUBLE) return;
  std::vector<double> values(tensor.raw_data().size() / sizeof(double));
  std::memcpy(values.data(), tensor.raw_data().data(), values.size() * sizeof(double));
  values.insert(values.end(), tensor.double_data().begin(), tensor.double_data().end());
  tensor.clear_raw_data();
  tensor.clear_double_data();
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  for (const double value : values) tensor.add_float_data(static_cast<float>(value));
}

// A network's input is of float. One of another type is computed from it by a Cast.
void InsertCast(onnx::GraphProto& graph) {
  auto& type = *graph.mutable_input(0)->mutable_type()->mutable_tensor_type();
  const std::int32_t original = type.elem_type();
  if (original == onnx::TensorProto::FLOAT) return;
  type.set_elem_type(onnx::TensorProto::FLOAT);
  // A double becomes a float without a Cast, except in the cases of Cast, which check it.
  const bool casts = std::any_of(graph.node().begin(), graph.node().end(),
                                 [](const auto& node) { return node.op_type() == "Cast"; });
  if (original == onnx::TensorProto::DOUBLE && !casts) return;
  const std::string name = graph.input(0).name();
  for (std::string& input : *graph.mutable_node(0)->mutable_input()) {
    if (input == name) input = "typed";
  }
  onnx::NodeProto& cast = *graph.add_node();
  cast.set_op_type("Cast");
  cast.add_input(name);
  cast.add_output("typed");
  onnx::AttributeProto& to = *cast.add_attribute();
  to.set_name("to");
  to.set_type(onnx::AttributeProto::INT);
  to.set_i(original);
  graph.mutable_node()->SwapElements(0, graph.node_size() - 1);
}

std::string AsNetwork(onnx::ModelProto model, const fs::path& data_set, const std::string& output) {
  onnx::GraphProto& graph = *model.mutable_graph();
  for (int i = 1; i < graph.input_size(); ++i) {
    onnx::TensorProto& tensor = *graph.add_initializer();
    tensor = Parse<onnx::TensorProto>(data_set / fmt::format("input_{}.pb", i));
    tensor.set_name(graph.input(i).name());
    RoundToFloat(tensor);
  }
  for (int i = 0; i < graph.output_size(); ++i) {
    if (graph.output(i).name() == output) graph.mutable_output()->SwapElements(0, i);
  }
  while (graph.output_size() > 1) graph.mutable_output()->RemoveLast();
  // Cases of operations that never changed have opset 1.
  auto& opset = *model.mutable_opset_import(0);
  opset.set_version(std::max<std::int64_t>(opset.version(), kOldestOpset));
  if (ComputesNothing(graph.node(0))) InsertClip(graph);
  InsertCast(graph);
  return model.SerializeAsString();
}

std::vector<fs::path> SortedEntries(const fs::path& folder) {
  std::vector<fs::path> entries;
  for (const auto& entry : fs::directory_iterator(folder)) entries.push_back(entry.path());
  std::sort(entries.begin(), entries.end());
  return entries;
}

template <typename Value>
Value At(const std::map<std::string, Value>& attributes, const std::string& name, Value otherwise) {
  const auto found = attributes.find(name);
  return found == attributes.end() ? otherwise : found->second;
}

const OnnxTensor* Element(const std::vector<std::optional<OnnxTensor>>& tensors, std::size_t i) {
  return i < tensors.size() && tensors[i] ? &*tensors[i] : nullptr;
}

}  // namespace

std::int64_t NodeCase::Int(const std::string& attribute, std::int64_t otherwise) const {
  return At(ints, attribute, otherwise);
}

float NodeCase::Float(const std::string& attribute, float otherwise) const {
  return At(floats, attribute, otherwise);
}

std::string NodeCase::String(const std::string& attribute, const std::string& otherwise) const {
  return At(strings, attribute, otherwise);
}

std::vector<std::int64_t> NodeCase::Ints(const std::string& attribute,
                                         std::vector<std::int64_t> otherwise) const {
  return At(int_lists, attribute, std::move(otherwise));
}

const OnnxTensor* NodeCase::Input(std::size_t i) const { return Element(inputs, i); }

const OnnxTensor* NodeCase::Output(std::size_t i) const { return Element(outputs, i); }

namespace {

// Cases of ONNX 1.17 whose published results contradict ONNX's specification and ONNX Runtime: the
// first four wrap around where QLinearMatMul saturates, the last one counts elements beyond the
// padding.
bool IsPublishedWrongly(const std::string& name) {
  static const std::set<std::string> names = {
      "test_qlinearmatmul_2D_int8_float16", "test_qlinearmatmul_2D_int8_float32",
      "test_qlinearmatmul_3D_int8_float16", "test_qlinearmatmul_3D_int8_float32",
      "test_averagepool_3d_dilations_large_count_include_pad_is_1_ceil_mode_is_True"};
  return names.contains(name);
}

}  // namespace

std::vector<CaseFolder> FindCaseFolders(const std::string& root) {
  std::map<std::string, std::string> op_types;  // of the folders with one node
  for (const fs::path& entry : SortedEntries(root)) {
    if (!fs::exists(entry / "model.onnx")) continue;
    if (IsPublishedWrongly(entry.filename().string())) continue;
    const auto model = Parse<onnx::ModelProto>(entry / "model.onnx");
    const bool one = model.graph().node_size() == 1;
    op_types[entry.filename().string()] = one ? model.graph().node(0).op_type() : "";
  }
  std::vector<CaseFolder> folders;
  for (const auto& [name, op_type] : op_types) {
    const std::size_t suffix = name.find("_expanded");
    const auto original = op_types.find(name.substr(0, suffix));
    const bool expanded = suffix != std::string::npos && original != op_types.end();
    folders.push_back({name, expanded ? original->second : op_type, expanded});
  }
  return folders;
}

bool AreDocumentedCases() {
  return !fs::exists(fs::path(kOnnxNodeTests) / "test_qlinearmatmul_2D_int8_float32");
}

std::vector<NodeCase> ReadCases(const std::string& folder, const std::string& root) {
  const fs::path path = fs::path(root) / folder;
  const auto model = Parse<onnx::ModelProto>(path / "model.onnx");
  const onnx::GraphProto& graph = model.graph();
  if (graph.node_size() != 1) {
    throw std::runtime_error(fmt::format("{} has {} nodes, not one", folder, graph.node_size()));
  }
  NodeCase base;
  base.name = folder;
  base.op_type = graph.node(0).op_type();
  for (const auto& import : model.opset_import()) {
    if (import.domain() == graph.node(0).domain()) base.opset = import.version();
  }
  ReadAttributes(graph.node(0), base);
  std::vector<NodeCase> cases;
  for (const fs::path& data_set : SortedEntries(path)) {
    if (!data_set.filename().string().starts_with("test_data_set_")) continue;
    NodeCase& one = cases.emplace_back(base);
    one.inputs = ReadTensors(graph.node(0).input(), graph.input(), data_set, "input");
    one.outputs = ReadTensors(graph.node(0).output(), graph.output(), data_set, "output");
    for (std::size_t output = 0; output < one.outputs.size(); ++output) {
      if (!one.outputs[output]) continue;
      const std::string& name = graph.node(0).output(static_cast<int>(output));
      one.models[output] = AsNetwork(model, data_set, name);
    }
  }
  for (std::size_t i = 0; cases.size() > 1 && i < cases.size(); ++i) {
    cases[i].name += fmt::format("/{}", i);
  }
  return cases;
}

}  // namespace topdnn
