// The interface for the translator of one ONNX operation: the node, the values that it reads, and
// the network that it adds layers to.

#ifndef TOPDNN_NETWORKS_ONNX_IMPORT_NODE_IMPORT_H_
#define TOPDNN_NETWORKS_ONNX_IMPORT_NODE_IMPORT_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kernels/eltwise/integer_steps.h"
#include "kernels/op/request_error.h"
#include "kernels/quantization/quantize.h"
#include "networks/onnx/import/importer.h"
#include "networks/onnx/model/model.h"
#include "networks/quantization/quantized_graph.h"

namespace topdnn {

// A node that is not supported, with the reason. The import continues, to find all such nodes.
class UnsupportedNode : public RequestError {
 public:
  using RequestError::RequestError;
};

// Padding by a Pad node around an image. The next window operation must apply it.
struct PendingPad {
  std::int64_t top = 0, left = 0, bottom = 0, right = 0;
  float value = 0.0F;

  bool none() const { return top == 0 && left == 0 && bottom == 0 && right == 0; }
};

struct ModelStep {
  IntegerStep step;
  std::shared_ptr<const ModelTensor> operand;  // one element, or one for each channel
};

// A value of the graph as seen by a node: the same elements in row-major order, but possibly with
// another shape (a flattening that an inner product does not need), and possibly with pending
// padding.
struct ImportedValue {
  ValueId value = -1;
  Shape shape;
  PendingPad pad = {};
  std::string reshaped_by = {};  // the node that reshaped it; names a flattening layer
  // ONNX's number of the element type. The elements are computed in f32 in any case: booleans are 0
  // and 1, and integers are whole numbers that f32 represents exactly.
  std::int64_t type = kOnnxFloat;
  // Of int32 and int64, the largest magnitude of an element, if it is known.
  std::optional<double> most = {};
  // Of integers that are kept as the real numbers that they stand for: integer = real / scale, plus
  // 128 if the type is uint8 and the quantization's s8.
  std::optional<Quantization> quantized = {};
  // Arithmetic on the integers that no layer computes yet, because f32 may not represent what is
  // between the steps (AddIntegerSteps in binary_nodes.h).
  std::vector<ModelStep> steps = {};
};

using Constant = std::shared_ptr<const ModelTensor>;
// std::monostate: the node that computes the value is not supported.
using NamedValue = std::variant<std::monostate, Constant, ImportedValue>;

// A value as it is with the batch that the file fixes.
struct ValueOfFileBatch {
  Shape shape;
  Constant constant = nullptr;  // absent: of a value of the network
};

// The state of an import.
struct ImportState {
  const Model& model;
  const ImportOptions& options;
  Graph graph;
  ParameterValues parameters = {};
  std::map<std::string, NamedValue> values = {};  // values of the model, by name
  std::map<std::string, std::vector<int>> readers =
      {};                                         // nodes that read a value; -1: the model's output
  std::map<std::string, std::string> norms = {};  // batch normalizations, by their result's name
  WeightScales weight_scales = {};                // of dequantized constants
  std::set<int> absorbed = {};                    // nodes that are part of another node's layer
  std::set<std::string> layers = {};              // names in use
  std::map<std::string, int> repeats = {};        // how often each name was requested
  std::size_t bytes = 0;                          // reserved for constants and parameters
  // Whole numbers up to this magnitude are exact in the network's values: 2^24 in f32.
  double most_exact = 0x1p24;
  bool is_of_constants = false;  // the graph of a node on constants (constant_graph.h)
  // Layers whose trained parameters are constants that another node computed, with that node.
  std::map<std::string, std::string> computed_parameters = {};
  // Values by name, if another batch is imported than the one that the file fixes.
  std::map<std::string, ValueOfFileBatch> of_file_batch = {};

  // Counts memory before it is allocated. Throws OnnxError when it exceeds the limit.
  void ReserveMemory(const Shape& shape, DataType type);
};

// The parameters of a batch normalization.
struct ScaleAndShift {
  std::span<float> scale, shift;
};

class NodeImport {
 public:
  NodeImport(ImportState& state, int index)
      : NodeImport(state, index, state.model.nodes[static_cast<std::size_t>(index)]) {}
  // For a node that stands for the model's node.
  NodeImport(ImportState& state, int index, const ModelNode& node)
      : state_(state), index_(index), node_(node) {}

  const ModelNode& node() const { return node_; }
  std::int64_t opset() const { return node_.opset; }
  const ImportOptions& options() const { return state_.options; }
  const Model& model() const { return state_.model; }
  double most_exact() const { return state_.most_exact; }
  bool is_of_constants() const { return state_.is_of_constants; }
  // The node that computed the constant of AbsorbBias; empty: none.
  const std::string& computed_bias() const { return computed_bias_; }
  const Graph& graph() const { return state_.graph; }
  int index() const { return index_; }

  std::size_t inputs() const { return node_.inputs.size(); }
  // Whether a node or the model's output reads the result.
  bool IsRead(std::size_t output) const;
  // Whether each reader of the first result is one of these operations.
  bool IsReadOnlyBy(std::initializer_list<std::string_view> op_types) const;
  bool Has(std::size_t input) const {
    return input < node_.inputs.size() && !node_.inputs[input].empty();
  }
  bool IsConstant(std::size_t input) const;
  // These throw UnsupportedNode when the input is missing, or is a value instead of a constant or
  // the reverse.
  const ModelTensor& ConstantAt(std::size_t input) const;
  ImportedValue SourceAt(std::size_t input) const;
  // The same, and in a graph of constants also integers. Throws UnsupportedNode when one of them
  // may not be exact.
  ImportedValue ExactSourceAt(std::size_t input) const;
  // A constant or a value of float, for ImportAs.
  NamedValue OperandAt(std::size_t input) const;
  // The same for a value of any element type; SourceAt also throws when it is not of float.
  ImportedValue AnySourceAt(std::size_t input) const;
  // The same, and also integers that are kept as real numbers (ImportedValue::quantized).
  ImportedValue QuantizedSourceAt(std::size_t input) const;
  // The axes of a Squeeze, Unsqueeze or reduction, counted from 0: from the input in newer opsets,
  // from the attribute in older ones. Empty when the node has none. Throws UnsupportedNode for axes
  // that are out of range or repeated.
  std::vector<int> Axes(std::size_t input, std::string_view attribute, int rank) const;
  // The input as it is with the batch that the file fixes. nullptr: that batch is the one that is
  // imported, or the input is unknown there.
  const ValueOfFileBatch* OfFileBatch(std::size_t input) const;

  // The value of the graph with that shape; adds a layer that reshapes if needed. Throws
  // UnsupportedNode for a scalar, more than 12 dimensions, and pending padding.
  ValueId Plain(const ImportedValue& value);
  // The value of the graph without its reshape, for operations that work element by element. Throws
  // UnsupportedNode for pending padding.
  ValueId Elements(const ImportedValue& value) const;
  const Shape& ShapeOf(ValueId value) const { return state_.graph.shape(value); }

  // Adds a layer, named after the node. Throws UnsupportedNode when its result does not fit the
  // memory.
  ValueId AddLayer(std::shared_ptr<const Op> op, std::vector<ValueId> inputs);
  // SetParameter sets a parameter of the last layer from a constant with as many elements.
  // NewParameter returns a zeroed one to fill.
  // SetWeights sets "weights" from the input, whose memory it shares if possible.
  void SetParameter(std::string_view name, const ModelTensor& constant, const Shape& shape);
  void SetWeights(std::size_t input, const Shape& shape);
  Tensor& NewParameter(std::string_view name, const Shape& shape);

  // If the only reader of the result (N, channels, ...) is an addition of a constant with one
  // element per channel, returns that constant and marks the addition as done. Otherwise returns
  // nothing. `trailing` is the number of dimensions after the channels.
  Constant AbsorbBias(std::int64_t channels, int trailing);

  // The parameters of the batch normalization that computes the input, if only this node reads its
  // result. A node that multiplies or adds per channel can become a part of it.
  std::optional<ScaleAndShift> NormAt(std::size_t input);
  // Notes that the node's result is that of a batch normalization: of this layer, or of the one
  // that computes the input and that this node, with its other input, became a part of.
  void ProduceNorm(ImportedValue value);
  void ProduceNormOf(std::size_t input);

  // The first result of another operation on these inputs, with this node's attributes.
  ImportedValue ImportAs(std::string_view op_type, std::vector<NamedValue> inputs);
  // The same with other attributes.
  ImportedValue ImportAs(std::string_view op_type, std::vector<NamedValue> inputs,
                         std::map<std::string, ModelAttribute> attributes);

  // Sets the node's result. That of an operation that only chooses elements (MaxPool) has the type
  // of its first input.
  void Produce(ImportedValue value, std::size_t output = 0);
  void Produce(ModelTensor constant, std::size_t output = 0);
  // Call before a constant of this size is allocated.
  void ReserveMemory(const Shape& shape, DataType type) { state_.ReserveMemory(shape, type); }

 private:
  std::string NewLayerName(const std::string& requested);

  ImportState& state_;
  int index_;
  const ModelNode& node_;
  std::string layer_;  // name of the last layer added
  std::string computed_bias_;
  std::string also_names_;  // result of an addition that became part of the layer
};

// "Mul at node 3".
std::string Describe(const ModelNode& node, int index);

// Throws UnsupportedNode when these elements of a constant are of int32 or int64, and f32 does not
// represent one of them.
void CheckExactInF32(DataType type, std::span<const double> elements);

// ONNX's number of a constant's type. Floating-point numbers of any width are kOnnxFloat.
std::int64_t OnnxTypeOf(const ModelTensor& constant);
// "bool", "int64", or the number of a type without a name here.
std::string NameOfOnnxType(std::int64_t type);

// The type for the elements of one of ONNX's types. Booleans are u8.
DataType TypeOfElements(std::int64_t type);

// The name of a node in messages: "conv1", or "node 3" for a node without a name.
std::string NameOfNode(const ModelNode& node, int index);

// Translators register themselves, by ONNX's op_type:
//
//   const NodeRegistration kConv("Conv", ImportConv);
using NodeTranslator = void (*)(NodeImport& node);

// For nodes that read a value of the network.
class NodeRegistration {
 public:
  NodeRegistration(std::string_view op_type, NodeTranslator translate);
};

// For nodes whose inputs are all constants, and that need more than their translator in a network
// (constant_graph.h), or have none.
class ConstantNodeRegistration {
 public:
  ConstantNodeRegistration(std::string_view op_type, NodeTranslator translate);
};

// The registered translators, or nullptr.
const NodeTranslator* FindTranslator(std::string_view op_type);
const NodeTranslator* FindConstantTranslator(std::string_view op_type);
// The operations that may read a value of the network, sorted.
std::vector<std::string> ImportedOperations();

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_ONNX_IMPORT_NODE_IMPORT_H_
