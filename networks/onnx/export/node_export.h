// The interface for the writer of one operation: the layer, and the model that it adds nodes to.

#ifndef TOPDNN_NETWORKS_ONNX_EXPORT_NODE_EXPORT_H_
#define TOPDNN_NETWORKS_ONNX_EXPORT_NODE_EXPORT_H_

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "networks/graph/graph.h"
#include "networks/parameters/parameter_values.h"
#include "networks/quantization/quantized_graph.h"

namespace topdnn {

// The values of the parameters, and the scales of the weights that are written as integers.
struct ExportedParameters {
  const ParameterValues& values;
  const WeightScales& scales;
};

class NodeExport {
 public:
  // `names` are the names of the graph's values in the model. `used_names` are all names in the
  // model.
  NodeExport(const Graph& graph, const GraphNode& layer, const ExportedParameters& parameters,
             std::vector<std::string>& names, std::set<std::string>& used_names,
             onnx::GraphProto& model)
      : graph_(graph),
        layer_(layer),
        parameters_(parameters),
        names_(names),
        used_names_(used_names),
        model_(model) {}

  template <typename T>
  const T& OpAs() const {
    return dynamic_cast<const T&>(*layer_.op);
  }
  const Shape& source_shape() const { return graph_.shape(layer_.inputs.front()); }
  // The first extent of the network's first input.
  std::int64_t images() const { return graph_.shape(0)[0]; }
  // Whether a layer of this kind computes the layer's first source or reads its result.
  bool IsNextTo(std::string_view kind) const;
  std::vector<std::string> Sources() const;

  // Adds a node named after the layer, with its result. `part` distinguishes several nodes of one
  // layer.
  onnx::NodeProto& AddNode(std::string_view op_type, std::vector<std::string> inputs,
                           std::string_view part = {});
  // A name that nothing else in the model has: the requested one, or one that begins with it.
  std::string NewName(const std::string& requested);
  // Makes the result of the last node the layer's result. ExportOnnx calls it after the writer.
  void Finish();

  // Adds an initializer with the value of the named parameter, or filled with `otherwise` if there
  // is none. Returns its name, or that of its dequantization if it is written as integers.
  std::string AddParameter(std::string_view name, const Shape& shape, float otherwise = 0.0F);
  std::string AddFloats(std::string_view name, const Shape& shape, const float* values);
  std::string AddInts(std::string_view name, const std::vector<std::int64_t>& values);
  // Adds an initializer of INT8, UINT8 or INT32, row-major.
  std::string AddIntegers(std::string_view name, DataType type, const Shape& shape,
                          std::span<const double> values);

 private:
  // Adds `real` as integers, with a DequantizeLinear, and returns the name of its result. `scales`:
  // one for each first index, or one for all.
  std::string AddDequantized(std::string_view name, DataType type, const Tensor& real,
                             const std::vector<float>& scales);

  const Graph& graph_;
  const GraphNode& layer_;
  const ExportedParameters parameters_;
  std::vector<std::string>& names_;
  std::set<std::string>& used_names_;
  onnx::GraphProto& model_;
};

void SetInt(onnx::NodeProto& node, const char* name, std::int64_t value);
void SetFloat(onnx::NodeProto& node, const char* name, float value);
void SetString(onnx::NodeProto& node, const char* name, const char* value);
void SetInts(onnx::NodeProto& node, const char* name, const std::vector<std::int64_t>& values);

using NodeWriter = void (*)(NodeExport& layer);

// Registers the writer of an operation, by its kind.
class NodeWriterRegistration {
 public:
  NodeWriterRegistration(std::string_view kind, NodeWriter write);
};

// The writer of an operation, or nullptr.
const NodeWriter* FindWriter(std::string_view kind);

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_ONNX_EXPORT_NODE_EXPORT_H_
