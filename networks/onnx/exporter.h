// From a graph and the values of its parameters to an ONNX model, which other programs run and the
// importer (importer.h) reads back: the same layers under the same names.

#ifndef TOPDNN_NETWORKS_ONNX_EXPORTER_H_
#define TOPDNN_NETWORKS_ONNX_EXPORTER_H_

#include <string>

#include "networks/graph.h"
#include "networks/onnx/model.h"
#include "networks/parameter_values.h"

namespace topdnn {

// The operations are written as this opset defines them.
inline constexpr std::int64_t kExportedOpset = 13;

// The bytes of the file. The number of images is left open. Throws OnnxError for an operation that
// ONNX lacks, ParameterError for values that do not fit the graph.
std::string ExportOnnx(const Graph& graph, const ParameterValues& values);

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_ONNX_EXPORTER_H_
