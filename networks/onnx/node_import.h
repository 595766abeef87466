// What a translator of one ONNX operation works with: the node, the values that it reads, and the
// network that its layers join.

#ifndef TOPDNN_NETWORKS_ONNX_NODE_IMPORT_H_
#define TOPDNN_NETWORKS_ONNX_NODE_IMPORT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "networks/onnx/importer.h"
#include "networks/onnx/model.h"

namespace topdnn {

// Why a node cannot be taken. The import goes on, to find what else cannot.
class UnsupportedNode : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Padding that a Pad node puts around an image, and that the next window operation is to take in.
struct PendingPad {
  std::int64_t top = 0, left = 0, bottom = 0, right = 0;
  float value = 0.0F;

  bool none() const { return top == 0 && left == 0 && bottom == 0 && right == 0; }
};

// A value of the graph as a node sees it: the same elements in row-major order, perhaps under
// another shape (a flattening that an inner product does not need), perhaps with padding to come.
struct ImportedValue {
  ValueId value = -1;
  Shape shape;
  PendingPad pad = {};
  std::string reshaped_by = {};  // the node that gave it its shape, for the name of a layer
};

using Constant = std::shared_ptr<const ModelTensor>;
// Nothing: made by a node that cannot be taken.
using NamedValue = std::variant<std::monostate, Constant, ImportedValue>;

// The network in the making.
struct ImportState {
  const Model& model;
  const ImportOptions& options;
  Graph graph;
  ParameterValues parameters = {};
  std::map<std::string, NamedValue> values = {};         // of the model, by name
  std::map<std::string, std::vector<int>> readers = {};  // nodes, and -1 for the model's output
  std::set<int> absorbed = {};                           // nodes that another's layer computes
  std::set<std::string> layers = {};                     // names given
  std::size_t bytes = 0;                                 // taken for constants and parameters

  // Counts memory that is about to be taken. Throws OnnxError when it may not be.
  void Take(const Shape& shape, DataType type);
};

class NodeImport {
 public:
  NodeImport(ImportState& state, int index)
      : state_(state), index_(index), node_(state.model.nodes[static_cast<std::size_t>(index)]) {}

  const ModelNode& node() const { return node_; }
  std::int64_t opset() const { return state_.model.opset; }
  const ImportOptions& options() const { return state_.options; }
  const Graph& graph() const { return state_.graph; }
  int index() const { return index_; }

  std::size_t inputs() const { return node_.inputs.size(); }
  bool Has(std::size_t input) const {
    return input < node_.inputs.size() && !node_.inputs[input].empty();
  }
  bool IsConstant(std::size_t input) const;
  // These throw UnsupportedNode when the input is absent or of the other kind.
  const ModelTensor& ConstantAt(std::size_t input) const;
  ImportedValue SourceAt(std::size_t input) const;
  // The axes of a Squeeze, Unsqueeze or reduction, from the input that newer opsets have or the
  // attribute of older ones, counted from 0; empty when there are none. Throws UnsupportedNode for
  // one out of range or repeated.
  std::vector<int> Axes(std::size_t input, std::string_view attribute, int rank) const;

  // The graph's own value of that shape, by a flattening layer where it must be; throws
  // UnsupportedNode for any other reshaping and for padding to come.
  ValueId Plain(const ImportedValue& value);
  // The graph's value behind one that is only seen under another shape: for operations that work
  // element by element. Throws UnsupportedNode for padding to come.
  ValueId Elements(const ImportedValue& value) const;
  const Shape& ShapeOf(ValueId value) const { return state_.graph.shape(value); }

  // Adds a layer, named after the node. Throws UnsupportedNode for a tensor that does not fit the
  // memory.
  ValueId AddLayer(std::shared_ptr<const Op> op, std::vector<ValueId> inputs);
  // A parameter of the last layer, from a constant with as many elements or, zeroed, to be filled.
  void SetParameter(std::string_view name, const ModelTensor& constant, const Shape& shape);
  Tensor& NewParameter(std::string_view name, const Shape& shape);

  // If an Addition of a constant, an element a channel, alone reads the result (N, channels, ...):
  // the constant, the addition being done with; otherwise nothing. `trailing` is the number of
  // dimensions after the channels.
  Constant AbsorbBias(std::int64_t channels, int trailing);

  // The node's result.
  void Produce(ImportedValue value);
  void Produce(ModelTensor constant);
  // Before a constant of this size is made.
  void Take(const Shape& shape, DataType type) { state_.Take(shape, type); }

 private:
  std::string NewLayerName(const std::string& wish);

  ImportState& state_;
  int index_;
  const ModelNode& node_;
  std::string layer_;       // the last one added
  std::string also_names_;  // the result of an addition that was absorbed
};

// Names in messages: "conv1", or "node 3" of one that has none.
std::string NameOfNode(const ModelNode& node, int index);

using NodeTranslator = void (*)(NodeImport& node);

// ONNX's op_type -> what takes it into the network.
const std::map<std::string, NodeTranslator>& NodeTranslators();
// The same for nodes of which every input is a constant, or the shape alone matters.
const std::map<std::string, NodeTranslator>& ConstantTranslators();

// A file each below this folder.
void ImportConv(NodeImport& node);
void ImportMaxPool(NodeImport& node);
void ImportAveragePool(NodeImport& node);
void ImportGlobalMaxPool(NodeImport& node);
void ImportGlobalAveragePool(NodeImport& node);
void ImportPad(NodeImport& node);
void ImportGemm(NodeImport& node);
void ImportMatMul(NodeImport& node);
void ImportBatchNormalization(NodeImport& node);
void ImportLrn(NodeImport& node);
void ImportSoftmax(NodeImport& node);
void ImportRelu(NodeImport& node);
void ImportClip(NodeImport& node);
void ImportDropout(NodeImport& node);
void ImportAdd(NodeImport& node);
void ImportConcat(NodeImport& node);
void ImportReduceMean(NodeImport& node);
void ImportReduceSum(NodeImport& node);
void ImportCastOfValue(NodeImport& node);
// Shapes: of a value or of a constant.
void ImportIdentity(NodeImport& node);
void ImportReshape(NodeImport& node);
void ImportFlatten(NodeImport& node);
void ImportSqueeze(NodeImport& node);
void ImportUnsqueeze(NodeImport& node);
void ImportTranspose(NodeImport& node);
void ImportShape(NodeImport& node);
// Constants alone.
void FoldConstant(NodeImport& node);
void FoldConstantOfShape(NodeImport& node);
void FoldCast(NodeImport& node);
void FoldGather(NodeImport& node);
void FoldSlice(NodeImport& node);
void FoldConcat(NodeImport& node);
void FoldAdd(NodeImport& node);
void FoldSub(NodeImport& node);
void FoldMul(NodeImport& node);
void FoldDiv(NodeImport& node);
void FoldFloor(NodeImport& node);
void FoldCeil(NodeImport& node);
void FoldReduceProd(NodeImport& node);

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_ONNX_NODE_IMPORT_H_
