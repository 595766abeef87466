#include "networks/onnx/model/model.h"

#include <fmt/format.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/unknown_field_set.h>
#include <onnx/onnx_pb.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstring>
#include <iterator>
#include <utility>

#include "networks/onnx/model/external_data.h"
#include "networks/onnx/model/function_calls.h"
#include "networks/onnx/model/node_order.h"
#include "networks/onnx/model/parsed_size.h"

namespace topdnn {

namespace {

// The elements of a list, each converted to the Stored type of the tensor's raw data.
template <typename Stored, typename List>
std::string BytesOf(const List& list) {
  std::string bytes(static_cast<std::size_t>(list.size()) * sizeof(Stored), '\0');
  char* at = bytes.data();
  for (const auto element : list) {
    const auto stored = static_cast<Stored>(element);
    std::memcpy(at, &stored, sizeof(Stored));
    at += sizeof(Stored);
  }
  return bytes;
}

// Reads the one list that the tensor's type uses.
std::string ListedBytes(const onnx::TensorProto& proto, DataType type) {
  switch (type) {
    case DataType::kF32:
      return BytesOf<float>(proto.float_data());
    case DataType::kF64:
      return BytesOf<double>(proto.double_data());
    case DataType::kS64:
      return BytesOf<std::int64_t>(proto.int64_data());
    case DataType::kS32:
      return BytesOf<std::int32_t>(proto.int32_data());
    case DataType::kF16:
    case DataType::kBF16:
      return BytesOf<std::uint16_t>(proto.int32_data());
    default:
      return BytesOf<std::uint8_t>(proto.int32_data());
  }
}

ModelTensor ReadTensor(onnx::TensorProto& proto, ExternalData& external, const std::string& what) {
  const auto refuse = [&](const std::string& why) {
    throw OnnxError(fmt::format("{}: {}", what, why));
  };
  if (proto.has_segment())
    refuse("its data is split into segments; save the model again without segments");
  const OnnxType* const known = FindOnnxType(proto.data_type());
  if (known == nullptr) {
    refuse(fmt::format("ONNX element type {} is not supported; save it as float or int64",
                       proto.data_type()));
  }
  ModelTensor tensor;
  tensor.type = known->type;
  tensor.boolean = known->number == kOnnxBool;
  constexpr int kMaxDimensions = 32;
  if (proto.dims_size() > kMaxDimensions) refuse("more than 32 dimensions");
  std::size_t expected = SizeOf(tensor.type);
  for (const std::int64_t dim : proto.dims()) {
    if (dim < 0 || __builtin_mul_overflow(expected, static_cast<std::size_t>(dim), &expected)) {
      refuse(fmt::format("invalid extent {}", dim));
    }
  }
  tensor.shape = Shape(std::vector<std::int64_t>(proto.dims().begin(), proto.dims().end()));
  if (proto.data_location() == onnx::TensorProto::EXTERNAL || proto.external_data_size() > 0) {
    std::map<std::string, std::string> entries;
    for (const auto& entry : proto.external_data()) entries.emplace(entry.key(), entry.value());
    tensor.bytes = external.Read(entries, expected, what);
  } else if (!proto.raw_data().empty()) {
    tensor.bytes.swap(*proto.mutable_raw_data());
  } else {
    tensor.bytes = ListedBytes(proto, tensor.type);
  }
  if (tensor.bytes.size() != expected) {
    refuse(fmt::format("{} bytes of data, but {} need {}; the file is damaged", tensor.bytes.size(),
                       expected, tensor.shape.ToString()));
  }
  return tensor;
}

// "com.example::Op", or the name alone in ONNX's domain.
std::string WithDomain(const std::string& domain, const std::string& op_type) {
  return domain.empty() || domain == "ai.onnx" ? op_type : domain + "::" + op_type;
}

ModelAttribute ReadAttribute(onnx::AttributeProto& proto, ExternalData& external,
                             const std::string& what) {
  ModelAttribute attribute;
  attribute.of_call = proto.ref_attr_name();
  switch (proto.type()) {
    case onnx::AttributeProto::INT:
      attribute.i = proto.i();
      break;
    case onnx::AttributeProto::FLOAT:
      attribute.f = proto.f();
      break;
    case onnx::AttributeProto::STRING:
      attribute.s = proto.s();
      break;
    case onnx::AttributeProto::INTS:
      attribute.ints = {proto.ints().begin(), proto.ints().end()};
      break;
    case onnx::AttributeProto::FLOATS:
      attribute.floats = {proto.floats().begin(), proto.floats().end()};
      break;
    case onnx::AttributeProto::TENSOR:
      attribute.tensor =
          std::make_shared<ModelTensor>(ReadTensor(*proto.mutable_t(), external, what));
      break;
    default:
      break;  // a subgraph or similar: no supported operation has one
  }
  return attribute;
}

ModelNode ReadNode(onnx::NodeProto& proto, std::int64_t opset, ExternalData& external) {
  ModelNode node;
  node.name = proto.name();
  node.opset = opset;
  node.op_type = WithDomain(proto.domain(), proto.op_type());
  node.inputs = {proto.input().begin(), proto.input().end()};
  node.outputs = {proto.output().begin(), proto.output().end()};
  for (onnx::AttributeProto& attribute : *proto.mutable_attribute()) {
    const std::string what = fmt::format("node {} ({}), attribute {}", Printable(node.name),
                                         Printable(node.op_type), Printable(attribute.name()));
    if (!node.attributes.emplace(attribute.name(), ReadAttribute(attribute, external, what))
             .second) {
      throw OnnxError(what + ": duplicate; the file is damaged");
    }
  }
  return node;
}

std::vector<std::string> NamesOf(const google::protobuf::RepeatedPtrField<std::string>& names) {
  return {names.begin(), names.end()};
}

// The version of ONNX's own domain; `otherwise` if there is no entry.
std::int64_t OpsetOf(const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports,
                     std::int64_t otherwise) {
  std::int64_t opset = otherwise;
  for (const auto& import : imports) {
    if (import.domain().empty() || import.domain() == "ai.onnx") opset = import.version();
  }
  if (opset != otherwise && (opset < kOldestOpset || opset > kNewestOpset)) {
    throw OnnxError(fmt::format(
        "opset {}: opsets {} to {} are supported; convert it with onnx.version_converter", opset,
        kOldestOpset, kNewestOpset));
  }
  return opset;
}

// The attributes of a function that have defaults, as protobuf messages.
template <typename Function>
std::vector<onnx::AttributeProto> DefaultsOf(const Function& function, const std::string& what) {
  if constexpr (requires { function.attribute_proto(); }) {
    return {function.attribute_proto().begin(), function.attribute_proto().end()};
  } else {  // ONNX before 1.13 does not know the field
    constexpr int kAttributeProto = 11;
    std::vector<onnx::AttributeProto> defaults;
    for (int i = 0; i < function.unknown_fields().field_count(); ++i) {
      const auto& field = function.unknown_fields().field(i);
      if (field.number() != kAttributeProto) continue;
      // Parsed lists may take many times the memory of their bytes.
      constexpr std::size_t kMostBytes = 1 << 16;
      if (field.type() != google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED ||
          field.length_delimited().size() > kMostBytes ||
          !defaults.emplace_back().ParseFromString(field.length_delimited())) {
        throw OnnxError(what + ": a default of an attribute is damaged, or larger than 64 KiB");
      }
    }
    return defaults;
  }
}

ModelFunctions ReadFunctions(onnx::ModelProto& proto, std::int64_t opset, ExternalData& external) {
  ModelFunctions functions;
  for (onnx::FunctionProto& function : *proto.mutable_functions()) {
    ModelFunction read{NamesOf(function.input()), NamesOf(function.output()), {}};
    const std::int64_t own = OpsetOf(function.opset_import(), opset);
    for (onnx::NodeProto& node : *function.mutable_node()) {
      read.nodes.push_back(ReadNode(node, own, external));
    }
    const std::string name = WithDomain(function.domain(), function.name());
    const std::string what = fmt::format("function {}", Printable(name));
    for (onnx::AttributeProto& attribute : DefaultsOf(function, what)) {
      read.defaults.emplace(attribute.name(), ReadAttribute(attribute, external, what));
    }
    if (!functions.emplace(name, std::move(read)).second) {
      throw OnnxError(what + ": there are two of this name; overloads are not supported");
    }
  }
  return functions;
}

// A model without an entry for ONNX's domain has nodes of other domains alone.
void CheckDomain(const Model& model) {
  for (std::size_t i = 0; model.opset == 0 && i < model.nodes.size(); ++i) {
    const ModelNode& node = model.nodes[i];
    if (node.op_type.find("::") != std::string::npos) continue;
    throw OnnxError(fmt::format(
        "its opset_import has no version of ONNX's own domain, to which node {} ({}) belongs; save "
        "it with one",
        node.name.empty() ? std::to_string(i) : Printable(node.name), Printable(node.op_type)));
  }
}

ModelInput ReadInput(const onnx::ValueInfoProto& proto) {
  ModelInput input;
  input.name = proto.name();
  const auto& type = proto.type().tensor_type();
  input.type = type.elem_type();
  input.has_shape = type.has_shape();
  for (const auto& dim : type.shape().dim()) {
    // Some exporters write an open dimension as 0 or -1.
    const bool settled = dim.has_dim_value() && dim.dim_value() > 0;
    input.dims.push_back(settled ? std::optional(dim.dim_value()) : std::nullopt);
    input.symbols.push_back(dim.dim_param());
  }
  return input;
}

// Calls `read` with a stream of the bytes. Throws OnnxError if the file cannot be read.
template <typename Read>
auto ReadStream(const ModelBytes& bytes, const Read& read) {
  if (bytes.file < 0) {
    google::protobuf::io::ArrayInputStream stream(bytes.memory, static_cast<int>(bytes.size));
    return read(stream);
  }
  constexpr int kPiece = 1 << 18;
  lseek(bytes.file, 0, SEEK_SET);
  google::protobuf::io::FileInputStream stream(bytes.file, kPiece);
  auto result = read(stream);
  if (const int error = stream.GetErrno(); error != 0) {
    throw OnnxError(fmt::format("cannot be read ({}); check the disk", std::strerror(error)));
  }
  return result;
}

// The most memory that parsing takes. Unknown, so 0, if ONNX is built for protobuf's lite runtime
// (1.20 of Debian is), whose messages have no descriptors.
template <typename Message>
std::size_t SizeAtMost(const ModelBytes& bytes, int length) {
  if constexpr (requires { Message::descriptor(); }) {
    return ReadStream(bytes, [&](auto& stream) {
      return ParsedSizeAtMost(stream, length, *Message::descriptor());
    });
  } else {
    return 0;
  }
}

onnx::ModelProto ParseProto(const ModelBytes& bytes, std::size_t memory_limit) {
  if (bytes.size > INT_MAX)
    throw OnnxError("larger than 2 GiB, the limit of protobuf; save its weights in other files");
  const auto length = static_cast<int>(bytes.size);
  const auto size = SizeAtMost<onnx::ModelProto>(bytes, length);
  if (memory_limit != 0 && size > memory_limit) {
    throw OnnxError(fmt::format("may take {} MiB to read, but {} MiB may be used; free memory",
                                size >> 20, memory_limit >> 20));
  }
  const google::protobuf::LogSilencer one_line_is_enough;
  onnx::ModelProto proto;
  const bool parsed = ReadStream(
      bytes, [&](auto& stream) { return proto.ParseFromBoundedZeroCopyStream(&stream, length); });
  if (!parsed || !proto.has_graph()) {
    throw OnnxError("not an ONNX model, or a truncated one; export or download it again");
  }
  return proto;
}

}  // namespace

const OnnxType* FindOnnxType(std::int64_t number) {
  const auto* const found = std::ranges::find(kOnnxTypes, number, &OnnxType::number);
  return found == std::end(kOnnxTypes) ? nullptr : found;
}

std::vector<double> ValuesOf(const ModelTensor& tensor) {
  if (tensor.bytes.empty()) return {};
  return ToDouble({tensor.shape, tensor.type, Layout::Plain(tensor.shape.rank())},
                  tensor.bytes.data());
}

std::vector<std::int64_t> IntsOf(const ModelTensor& tensor) {
  std::vector<std::int64_t> ints(static_cast<std::size_t>(tensor.elements()));
  if (tensor.type == DataType::kS64) {
    if (!ints.empty()) std::memcpy(ints.data(), tensor.bytes.data(), tensor.bytes.size());
    return ints;
  }
  if (UnitRoundoff(tensor.type) != 0) {
    throw std::invalid_argument(
        fmt::format("a tensor of {}, but integers are needed", NameOf(tensor.type)));
  }
  const std::vector<double> values = ValuesOf(tensor);
  std::transform(values.begin(), values.end(), ints.begin(),
                 [](double value) { return static_cast<std::int64_t>(value); });
  return ints;
}

ModelTensor MakeTensor(Shape shape, DataType type, std::vector<double> values) {
  constexpr double kBound = 0x1p62;
  if (type == DataType::kS64) {
    for (double& value : values) {
      value = std::isnan(value) ? 0 : std::clamp(std::trunc(value), -kBound, kBound);
    }
  }
  ModelTensor tensor{std::move(shape), type, std::string(values.size() * SizeOf(type), '\0')};
  if (!values.empty()) {
    FromDouble(values, {tensor.shape, type, Layout::Plain(tensor.shape.rank())},
               tensor.bytes.data());
  }
  return tensor;
}

std::int64_t ModelNode::Int(const std::string& attribute, std::int64_t otherwise) const {
  const auto found = attributes.find(attribute);
  return found == attributes.end() ? otherwise : found->second.i.value_or(otherwise);
}

float ModelNode::Float(const std::string& attribute, float otherwise) const {
  const auto found = attributes.find(attribute);
  return found == attributes.end() ? otherwise : found->second.f.value_or(otherwise);
}

std::string ModelNode::String(const std::string& attribute, const std::string& otherwise) const {
  const auto found = attributes.find(attribute);
  return found == attributes.end() ? otherwise : found->second.s.value_or(otherwise);
}

std::vector<std::int64_t> ModelNode::Ints(const std::string& attribute,
                                          const std::vector<std::int64_t>& otherwise) const {
  const auto found = attributes.find(attribute);
  return found == attributes.end() ? otherwise : found->second.ints;
}

Model ParseModel(const ModelBytes& bytes, std::size_t memory_limit, const std::string& folder) {
  onnx::ModelProto proto = ParseProto(bytes, memory_limit);
  ExternalData external(folder, memory_limit);
  Model model;
  model.opset = OpsetOf(proto.opset_import(), 0);
  onnx::GraphProto& graph = *proto.mutable_graph();
  if (static_cast<std::size_t>(graph.node_size()) > kMaxNodes) {
    throw OnnxError(
        fmt::format("{} nodes: at most {} are supported", graph.node_size(), kMaxNodes));
  }
  if (graph.sparse_initializer_size() > 0) {
    throw OnnxError("sparse weights are not supported; save them dense");
  }
  for (onnx::TensorProto& initializer : *graph.mutable_initializer()) {
    const std::string what = fmt::format("initializer {}", Printable(initializer.name()));
    auto tensor = std::make_shared<ModelTensor>(ReadTensor(initializer, external, what));
    if (!model.initializers.emplace(initializer.name(), std::move(tensor)).second) {
      throw OnnxError(what + ": duplicate; the file is damaged");
    }
  }
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    model.nodes.push_back(ReadNode(node, model.opset == 0 ? kNewestOpset : model.opset, external));
  }
  CheckDomain(model);
  model.nodes = WithoutCalls(model.nodes, ReadFunctions(proto, model.opset, external));
  SortNodes(model.nodes);
  for (const auto& input : graph.input()) {
    if (model.initializers.count(input.name()) == 0) model.inputs.push_back(ReadInput(input));
  }
  for (const auto& output : graph.output()) {
    model.outputs.push_back(output.name());
    model.output_types[output.name()] = output.type().tensor_type().elem_type();
  }
  return model;
}

std::string Printable(std::string_view name) {
  constexpr std::size_t kMaxLength = 80;
  std::string text(name.substr(0, kMaxLength));
  for (char& c : text) {
    if (c < ' ' || c > '~') c = '?';
  }
  if (name.size() > kMaxLength) text += "...";
  return text;
}

}  // namespace topdnn
