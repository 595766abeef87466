// Imports a model and runs it once.

#ifndef TOPDNN_TESTS_NETWORKS_ONNX_RUN_MODEL_H_
#define TOPDNN_TESTS_NETWORKS_ONNX_RUN_MODEL_H_

#include <string>
#include <vector>

#include "networks/onnx/importer.h"

namespace topdnn {

// Returns the output of one inference on a backend with one thread.
std::vector<double> RunGraph(const Graph& graph, const ParameterValues& parameters,
                             const std::vector<double>& input,
                             const std::string& backend = "reference");

// Returns the line with which the importer refuses the model. It is a test failure when the
// importer does not refuse.
std::string RefusalOf(const std::string& bytes, const ImportOptions& options = {});

}  // namespace topdnn

#endif  // TOPDNN_TESTS_NETWORKS_ONNX_RUN_MODEL_H_
