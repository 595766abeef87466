// Small graphs of many operations: what is exported, read back, and mutated.

#ifndef TOPDNN_TESTS_NETWORKS_ONNX_SAMPLE_GRAPHS_H_
#define TOPDNN_TESTS_NETWORKS_ONNX_SAMPLE_GRAPHS_H_

#include <string>
#include <vector>

#include "networks/graph.h"

namespace topdnn {

// Each operation that ONNX has, once at least.
Graph EveryOperation();

// Files of a few kilobytes each: the graph above, and models as other exporters write them.
std::vector<std::string> SampleModels();

}  // namespace topdnn

#endif  // TOPDNN_TESTS_NETWORKS_ONNX_SAMPLE_GRAPHS_H_
