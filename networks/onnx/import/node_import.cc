#include "networks/onnx/import/node_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kernels/flatten/flatten.h"
#include "kernels/op/registrations.h"

namespace topdnn {

void ImportState::ReserveMemory(const Shape& shape, DataType type) {
  const auto elements = static_cast<std::size_t>(shape.elements());
  std::size_t more = 0;
  if (__builtin_mul_overflow(elements, SizeOf(type), &more) ||
      __builtin_add_overflow(bytes, more, &bytes) ||
      (options.memory_limit != 0 && bytes > options.memory_limit)) {
    throw OnnxError(
        fmt::format("its weights and constants need more than the {} MiB that may be "
                    "used; free memory",
                    options.memory_limit >> 20));
  }
}

std::string NameOfNode(const ModelNode& node, int index) {
  return node.name.empty() ? fmt::format("node {}", index) : Printable(node.name);
}

void CheckExactInF32(DataType type, std::span<const double> elements) {
  if (type != DataType::kS32 && type != DataType::kS64) return;
  for (const double element : elements) {
    if (static_cast<double>(static_cast<float>(element)) == element) continue;
    throw UnsupportedNode(fmt::format("the integer {} is not exact in f32", element));
  }
}

std::string Describe(const ModelNode& node, int index) {
  return fmt::format("{} at {}", Printable(node.op_type), NameOfNode(node, index));
}

std::int64_t OnnxTypeOf(const ModelTensor& constant) {
  if (constant.boolean) return kOnnxBool;
  if (UnitRoundoff(constant.type) != 0) return kOnnxFloat;
  return std::ranges::find(kOnnxTypes, constant.type, &OnnxType::type)->number;
}

std::string NameOfOnnxType(std::int64_t type) {
  const OnnxType* const found = FindOnnxType(type);
  return found == nullptr ? fmt::format("ONNX's type {}", type) : std::string(found->name);
}

DataType TypeOfElements(std::int64_t type) {
  const OnnxType* const found = FindOnnxType(type);
  return found == nullptr ? DataType::kF32 : found->type;
}

bool NodeImport::IsRead(std::size_t output) const {
  const std::string& name = node_.outputs[output];
  return !name.empty() && state_.readers.count(name) > 0;
}

bool NodeImport::IsReadOnlyBy(std::initializer_list<std::string_view> op_types) const {
  const auto found = state_.readers.find(node_.outputs.front());
  return found != state_.readers.end() &&
         std::all_of(found->second.begin(), found->second.end(), [&](int reader) {
           return reader >= 0 &&
                  std::count(op_types.begin(), op_types.end(),
                             state_.model.nodes[static_cast<std::size_t>(reader)].op_type) > 0;
         });
}

bool NodeImport::IsConstant(std::size_t input) const {
  if (!Has(input)) return false;
  const auto found = state_.values.find(node_.inputs[input]);
  return found != state_.values.end() && std::holds_alternative<Constant>(found->second);
}

const ModelTensor& NodeImport::ConstantAt(std::size_t input) const {
  if (!IsConstant(input)) {
    throw UnsupportedNode(fmt::format("its input {} is not a constant", input));
  }
  return *std::get<Constant>(state_.values.at(node_.inputs[input]));
}

namespace {

bool ChoosesElements(const ModelNode& node) {
  return node.op_type == "MaxPool" || node.op_type == "GlobalMaxPool";
}

}  // namespace

ImportedValue NodeImport::SourceAt(std::size_t input) const {
  ImportedValue value = ChoosesElements(node_) ? QuantizedSourceAt(input) : AnySourceAt(input);
  if (value.type != kOnnxFloat && !ChoosesElements(node_)) {
    throw UnsupportedNode(
        fmt::format("its input {} is of {}: topdnn computes it on float alone; add a Cast to float",
                    input, NameOfOnnxType(value.type)));
  }
  return value;
}

ImportedValue NodeImport::ExactSourceAt(std::size_t input) const {
  if (!is_of_constants()) return SourceAt(input);
  ImportedValue value = AnySourceAt(input);
  if (value.most.value_or(0) > most_exact()) {
    throw UnsupportedNode(
        fmt::format("its input {} reaches {:.0f}, and integers are exact up to {:.0f}", input,
                    *value.most, most_exact()));
  }
  return value;
}

NamedValue NodeImport::OperandAt(std::size_t input) const {
  if (IsConstant(input)) return state_.values.at(node_.inputs[input]);
  return SourceAt(input);
}

ImportedValue NodeImport::AnySourceAt(std::size_t input) const {
  ImportedValue value = QuantizedSourceAt(input);
  if (value.quantized) {
    throw UnsupportedNode(fmt::format(
        "its input {} is quantized: topdnn computes it on float alone; add a DequantizeLinear",
        input));
  }
  return value;
}

ImportedValue NodeImport::QuantizedSourceAt(std::size_t input) const {
  if (!Has(input)) throw UnsupportedNode(fmt::format("it has no input {}", input));
  const auto* value = std::get_if<ImportedValue>(&state_.values.at(node_.inputs[input]));
  if (value == nullptr) throw UnsupportedNode(fmt::format("its input {} is a constant", input));
  return *value;
}

const ValueOfFileBatch* NodeImport::OfFileBatch(std::size_t input) const {
  if (!Has(input)) return nullptr;
  const auto found = state_.of_file_batch.find(node_.inputs[input]);
  return found == state_.of_file_batch.end() ? nullptr : &found->second;
}

std::vector<int> NodeImport::Axes(std::size_t input, std::string_view attribute, int rank) const {
  std::vector<std::int64_t> given = node_.Ints(std::string(attribute), {});
  if (Has(input)) given = IntsOf(ConstantAt(input));
  std::vector<int> axes;
  for (std::int64_t axis : given) {
    if (axis < -rank || axis >= rank) {
      throw UnsupportedNode(fmt::format("axis {} of a tensor of {} dimensions", axis, rank));
    }
    axes.push_back(static_cast<int>(axis < 0 ? axis + rank : axis));
    if (std::count(axes.begin(), axes.end(), axes.back()) > 1) {
      throw UnsupportedNode(fmt::format("duplicate axis {}", axis));
    }
  }
  return axes;
}

ValueId NodeImport::Elements(const ImportedValue& value) const {
  if (value.value < 0) throw UnsupportedNode("its source has no elements");
  if (!value.steps.empty()) {
    throw UnsupportedNode(
        "its source is of integers of unknown size: f32 may not represent the result; add a Cast "
        "to float or a Clip before it");
  }
  if (!value.pad.none()) {
    throw UnsupportedNode("a Pad that is not followed by a convolution or pooling");
  }
  return value.value;
}

ValueId NodeImport::Plain(const ImportedValue& value) {
  const ValueId elements = Elements(value);
  const Shape shape = ShapeOf(elements);
  if (shape == value.shape) return elements;
  constexpr int kMaxDimensions = 12;  // of a tensor of oneDNN
  if (shape.elements() < 1 || std::min(shape.rank(), value.shape.rank()) < 1 ||
      std::max(shape.rank(), value.shape.rank()) > kMaxDimensions) {
    throw UnsupportedNode(
        fmt::format("a reshape of {} to {} before it", shape.ToString(), value.shape.ToString()));
  }
  const std::string layer = NewLayerName(value.reshaped_by.empty() ? "flatten" : value.reshaped_by);
  return state_.graph.Add(layer, std::make_shared<FlattenOp>(shape, value.shape), {elements});
}

std::string NodeImport::NewLayerName(const std::string& requested) {
  std::string name = requested;
  int& repeats = state_.repeats[requested];  // keeps the search linear for many nodes of one name
  while (!state_.layers.insert(name).second) name = fmt::format("{}_{}", requested, ++repeats + 1);
  return name;
}

ValueId NodeImport::AddLayer(std::shared_ptr<const Op> op, std::vector<ValueId> inputs) {
  const Shape dst = op->Find({Pass::kForward, true, DataType::kF32}, Arg::kDst)->shape;
  const auto elements = static_cast<std::size_t>(dst.elements());
  const std::size_t limit = options().memory_limit;
  if (limit != 0 && elements > limit / sizeof(float)) {
    throw UnsupportedNode(
        fmt::format("its result of {} does not fit the memory that may be used", dst.ToString()));
  }
  layer_ = NewLayerName(node_.name.empty() ? fmt::format("{}_{}", Printable(node_.op_type), index_)
                                           : Printable(node_.name));
  return state_.graph.Add(layer_, std::move(op), std::move(inputs));
}

Tensor& NodeImport::NewParameter(std::string_view name, const Shape& shape) {
  ReserveMemory(shape, DataType::kF32);
  return state_.parameters[ParameterKey(layer_, name)] = Tensor(shape);
}

void NodeImport::SetParameter(std::string_view name, const ModelTensor& constant,
                              const Shape& shape) {
  if (constant.elements() != shape.elements()) {
    throw UnsupportedNode(
        fmt::format("its {} are {}, not {}", name, constant.shape.ToString(), shape.ToString()));
  }
  Tensor& tensor = NewParameter(name, shape);
  if (name == "weights" && !constant.scales.empty()) {
    state_.weight_scales[layer_] = constant.scales;
  }
  if (constant.type == DataType::kF32) {
    std::copy(constant.bytes.begin(), constant.bytes.end(), tensor.as<char>());
  } else {
    const std::vector<double> values = ValuesOf(constant);
    FromDouble(values, tensor.desc(), tensor.data());
    CheckExactInF32(constant.type, values);
  }
}

void NodeImport::SetWeights(std::size_t input, const Shape& shape) {
  const ModelTensor& weights = ConstantAt(input);
  if (weights.type != DataType::kF32 || weights.elements() != shape.elements() ||
      !weights.scales.empty()) {
    return SetParameter("weights", weights, shape);
  }
  const auto& owner = std::get<Constant>(state_.values.at(node_.inputs[input]));
  state_.parameters[ParameterKey(layer_, "weights")] =
      Tensor({shape, DataType::kF32, Layout::Plain(shape.rank())},
             std::shared_ptr<const void>(owner, weights.bytes.data()));
}

Constant NodeImport::AbsorbBias(std::int64_t channels, int trailing) {
  const std::string& result = node_.outputs.front();
  const auto known = state_.readers.find(result);
  if (known == state_.readers.end()) return nullptr;
  const std::vector<int>& readers = known->second;
  if (readers.size() != 1 || readers.front() < 0) return nullptr;
  const ModelNode& next = state_.model.nodes[static_cast<std::size_t>(readers.front())];
  if (next.op_type != "Add" || next.inputs.size() != 2 || next.outputs.size() != 1) return nullptr;
  const std::string& other = next.inputs[next.inputs[0] == result ? 1 : 0];
  const auto found = state_.values.find(other);
  if (found == state_.values.end()) return nullptr;
  const auto* constant = std::get_if<Constant>(&found->second);
  if (constant == nullptr || (*constant)->elements() != channels) return nullptr;
  if ((*constant)->type == DataType::kF64) return nullptr;  // refused at the addition
  // The shape has the channels on their axis and 1 on all others: (K), (1, K), (K, 1, 1), (1, K, 1,
  // 1).
  const Shape& shape = (*constant)->shape;
  const int axis = shape.rank() - 1 - trailing;
  if (axis < 0 || axis > 1 || shape[axis] != channels) return nullptr;
  state_.absorbed.insert(readers.front());
  also_names_ = next.outputs.front();
  computed_bias_ = (*constant)->computed_by;
  return *constant;
}

std::optional<ScaleAndShift> NodeImport::NormAt(std::size_t input) {
  if (!Has(input)) return std::nullopt;
  const std::string& name = node_.inputs[input];
  const auto norm = state_.norms.find(name);
  if (norm == state_.norms.end() || state_.readers[name] != std::vector<int>{index_}) {
    return std::nullopt;
  }
  const auto values = [&](std::string_view parameter) {
    Tensor& tensor = state_.parameters.at(ParameterKey(norm->second, parameter));
    return std::span(tensor.as<float>(), static_cast<std::size_t>(tensor.desc().shape.elements()));
  };
  return ScaleAndShift{values("scale"), values("shift")};
}

void NodeImport::ProduceNorm(ImportedValue value) {
  state_.norms[node_.outputs.front()] = layer_;
  Produce(std::move(value));
}

void NodeImport::ProduceNormOf(std::size_t input) {
  const std::string norm = state_.norms.at(node_.inputs[input]);
  const std::string& computed_by = ConstantAt(1 - input).computed_by;
  if (!computed_by.empty()) state_.computed_parameters[norm] = computed_by;
  state_.norms[node_.outputs.front()] = norm;
  Produce(SourceAt(input));
}

ImportedValue NodeImport::ImportAs(std::string_view op_type, std::vector<NamedValue> inputs) {
  return ImportAs(op_type, std::move(inputs), node_.attributes);
}

ImportedValue NodeImport::ImportAs(std::string_view op_type, std::vector<NamedValue> inputs,
                                   std::map<std::string, ModelAttribute> attributes) {
  const auto new_name = [&](const std::string& part) {
    std::string name = node_.outputs.front() + "/" + part;
    while (state_.values.count(name) > 0 || state_.readers.count(name) > 0) name += "'";
    return name;
  };
  ModelNode other = node_;
  other.op_type = std::string(op_type);
  other.attributes = std::move(attributes);
  other.inputs.clear();
  other.outputs = {new_name("result")};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    other.inputs.push_back(new_name(fmt::format("input{}", i)));
    state_.values[other.inputs.back()] = std::move(inputs[i]);
  }
  NodeImport import(state_, index_, other);
  (*FindTranslator(op_type))(import);
  ImportedValue result = std::get<ImportedValue>(state_.values.at(other.outputs.front()));
  for (const std::string& input : other.inputs) state_.values.erase(input);
  state_.values.erase(other.outputs.front());
  return result;
}

void NodeImport::Produce(ImportedValue value, std::size_t output) {
  if (value.shape.elements() == 0) {
    ModelTensor empty{value.shape, TypeOfElements(value.type), {}};
    empty.boolean = value.type == kOnnxBool;
    Produce(std::move(empty), output);
    return;
  }
  if (ChoosesElements(node_) && output == 0) {
    const ImportedValue source = QuantizedSourceAt(0);
    value.type = source.type;
    value.quantized = source.quantized;
  }
  if (!also_names_.empty()) state_.values[also_names_] = value;
  state_.values[node_.outputs[output]] = std::move(value);
}

void NodeImport::Produce(ModelTensor constant, std::size_t output) {
  state_.values[node_.outputs[output]] = std::make_shared<ModelTensor>(std::move(constant));
}

namespace {

constinit Registrations<std::string, NodeTranslator> translators("ONNX translator");
constinit Registrations<std::string, NodeTranslator> constant_translators(
    "ONNX translator of constants");

}  // namespace

NodeRegistration::NodeRegistration(std::string_view op_type, NodeTranslator translate) {
  translators.Add(std::string(op_type), translate);
}

ConstantNodeRegistration::ConstantNodeRegistration(std::string_view op_type,
                                                   NodeTranslator translate) {
  constant_translators.Add(std::string(op_type), translate);
}

const NodeTranslator* FindTranslator(std::string_view op_type) { return translators.Find(op_type); }

const NodeTranslator* FindConstantTranslator(std::string_view op_type) {
  return constant_translators.Find(op_type);
}

std::vector<std::string> ImportedOperations() { return translators.Keys(); }

}  // namespace topdnn
