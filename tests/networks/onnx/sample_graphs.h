// Small graphs with many operations, for export, import and mutation.

#ifndef TOPDNN_TESTS_NETWORKS_ONNX_SAMPLE_GRAPHS_H_
#define TOPDNN_TESTS_NETWORKS_ONNX_SAMPLE_GRAPHS_H_

#include <string>
#include <vector>

#include "networks/graph/graph.h"

namespace topdnn {

// A graph with each operation that can be exported, at least once.
Graph EveryOperation();

// Files of a few kilobytes each: the graph above, and models in the form of other exporters.
std::vector<std::string> SampleModels();

// A quantized convolution, pooling and inner product, as other programs write them.
std::string QuantizedModel();

}  // namespace topdnn

#endif  // TOPDNN_TESTS_NETWORKS_ONNX_SAMPLE_GRAPHS_H_
