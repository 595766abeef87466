// From an ONNX model to a graph and the values of its parameters.
//
// A network of one image input and one output, of the operations in NodeTranslators()
// (node_import.h). What ONNX spells out and topdnn's operations have inside becomes part of them: a
// padding before a convolution, an addition of a bias after it, a flattening before an inner
// product. What follows from the shapes alone is computed here.

#ifndef TOPDNN_NETWORKS_ONNX_IMPORTER_H_
#define TOPDNN_NETWORKS_ONNX_IMPORTER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "networks/graph.h"
#include "networks/onnx/model.h"
#include "networks/parameter_values.h"

namespace topdnn {

struct ImportOptions {
  std::string name = "onnx";  // the graph's
  // The whole shape of the input, where it is known (that of an image to run on): it must agree
  // with what the model settles, but for the batch.
  std::optional<Shape> input = {};
  // Images a step; otherwise the model's own number, or `open_batch` where that is open.
  std::optional<std::int64_t> batch = {};
  std::int64_t open_batch = 1;
  // The height and width where the model leaves them open. Refused where it does not.
  std::optional<std::int64_t> open_size = {};
  // Leave out a softmax at the end: training computes it with the loss.
  bool drop_final_softmax = false;
  // Bytes that the reading may take, and each of the network's tensors. 0: no limit.
  std::size_t memory_limit = 0;
};

struct ImportedNetwork {
  Graph graph;
  ParameterValues parameters;
  std::string input_name;
  std::string output_name;
  Shape output;  // as the model has it: the graph's output may have the same elements as an image
};

// Throws OnnxError: one line, which for operations that are not supported lists all of them with
// their nodes.
ImportedNetwork ImportOnnx(std::string_view bytes, const ImportOptions& options);

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_ONNX_IMPORTER_H_
