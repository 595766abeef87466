// Imports a model and runs it once.

#ifndef TOPDNN_TESTS_NETWORKS_ONNX_RUN_MODEL_H_
#define TOPDNN_TESTS_NETWORKS_ONNX_RUN_MODEL_H_

#include <string>
#include <vector>

#include "networks/onnx/importer.h"

namespace topdnn {

// The output of one inference by a backend at one thread.
std::vector<double> RunGraph(const Graph& graph, const ParameterValues& parameters,
                             const std::vector<double>& input,
                             const std::string& backend = "reference");

// The one line with which the importer refuses; a failure when it does not.
std::string RefusalOf(const std::string& bytes, const ImportOptions& options = {});

}  // namespace topdnn

#endif  // TOPDNN_TESTS_NETWORKS_ONNX_RUN_MODEL_H_
