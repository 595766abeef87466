// Imports an ONNX model as a graph and the values of its parameters.
//
// The network consists of operations that have a translator (node_import.h). The caller may choose
// some of the outputs; nodes and inputs that no chosen output depends on are left out. Some nodes
// become part of another layer: a padding before a convolution, an addition of a bias after it, a
// flattening before an inner product. Nodes that depend only on constants and
// shapes are computed at import (constant_graph.h).
// Layers between a DequantizeLinear and a QuantizeLinear become integer layers
// (networks/quantization/quantized_graph.h).

#ifndef TOPDNN_NETWORKS_ONNX_IMPORT_IMPORTER_H_
#define TOPDNN_NETWORKS_ONNX_IMPORT_IMPORTER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "networks/graph/graph.h"
#include "networks/onnx/model/model.h"
#include "networks/parameters/parameter_values.h"

namespace topdnn {

struct ImportOptions {
  std::string name = "onnx";  // name of the graph
  // The complete shape of the image, the network's first input, if it is known. It must agree with
  // the model's, except for the batch.
  std::optional<Shape> input = {};
  // The same for any input, by its name.
  std::map<std::string, Shape> shapes = {};
  bool shapes_of_all = false;  // an input that is not in `shapes` is an error
  // Names of the outputs to compute. Empty: all outputs of the model.
  std::vector<std::string> outputs = {};
  // Images per step. Absent: the number in the given shape of the first input, otherwise the
  // model's, or `open_batch` if that is open.
  std::optional<std::int64_t> batch = {};
  std::int64_t open_batch = 1;
  // The height and width, if the model leaves them open. An error if it does not.
  std::optional<std::int64_t> open_size = {};
  // Whether to drop a softmax at the end of a network with one output: training computes it with
  // the loss.
  bool drop_final_softmax = false;
  // The model's folder, for weights in other files. Empty: such weights are an error.
  std::string folder = {};
  // Limit in bytes for reading the model, for its constants and parameters together, and for each
  // tensor of the network. 0: no limit.
  std::size_t memory_limit = 0;
};

struct ImportedInput {
  std::string name;
  DataType type = DataType::kF32;  // in the model; booleans are u8
  // Of an integer type, the numbers that it may have: those of int32 and int64 that f32 represents.
  double least = 0, most = 0;
};

struct ImportedOutput {
  std::string name;
  Shape shape;  // in the model; the graph's may have other dimensions, with as many elements
  // In the model; the graph computes it in floating point. Booleans are u8.
  DataType type = DataType::kF32;
};

struct ImportedNetwork {
  Graph graph;
  ParameterValues parameters;
  // As the graph orders them. The first input is the first one of four dimensions, if there is one.
  std::vector<ImportedInput> inputs;
  std::vector<ImportedOutput> outputs;
  // Layers whose parameters other nodes compute from the file's constants (a normalization or
  // quantization of weights), with the last of these nodes: "Mul at node 3".
  std::map<std::string, std::string> computed_parameters = {};
};

// `bytes` are the contents of the file. Throws OnnxError in one line. For unsupported operations
// the line lists all of them with their nodes (up to 200).
ImportedNetwork ImportOnnx(std::string_view bytes, const ImportOptions& options);
// The same of an open regular file of `size` bytes.
ImportedNetwork ImportOnnxFile(int file, std::size_t size, const ImportOptions& options);

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_ONNX_IMPORT_IMPORTER_H_
