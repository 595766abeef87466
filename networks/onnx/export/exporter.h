// Exports a graph and the values of its parameters as an ONNX model with the same layers and names.
// Other programs can run it, and the importer (importer.h) can read it.

#ifndef TOPDNN_NETWORKS_ONNX_EXPORT_EXPORTER_H_
#define TOPDNN_NETWORKS_ONNX_EXPORT_EXPORTER_H_

#include <string>

#include "networks/graph/graph.h"
#include "networks/onnx/model/model.h"
#include "networks/parameters/parameter_values.h"
#include "networks/quantization/quantized_graph.h"

namespace topdnn {

// The opset of the exported operations.
inline constexpr std::int64_t kExportedOpset = 13;

// Returns the bytes of the file. The number of images is left open. Throws OnnxError for an
// operation that ONNX does not have, and ParameterError for values that do not fit the graph. The
// weights of the layers in `scales` are written as s8, and the bias of such a layer as s32 if its
// source is dequantized, each with a DequantizeLinear behind it.
std::string ExportOnnx(const Graph& graph, const ParameterValues& values,
                       const WeightScales& scales = {});

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_ONNX_EXPORT_EXPORTER_H_
