// Imports a model and runs it once.

#ifndef TOPDNN_TESTS_NETWORKS_ONNX_RUN_MODEL_H_
#define TOPDNN_TESTS_NETWORKS_ONNX_RUN_MODEL_H_

#include <map>
#include <string>
#include <vector>

#include "networks/onnx/import/importer.h"

namespace topdnn {

// Returns the output of one inference on a backend with one thread.
std::vector<double> RunGraph(const Graph& graph, const ParameterValues& parameters,
                             const std::vector<double>& input,
                             const std::string& backend = "reference");

// The values of inputs or outputs, by their names in the model.
using NamedValues = std::map<std::string, std::vector<double>>;

// Returns all outputs of one inference on a backend with one thread.
NamedValues RunNetwork(const ImportedNetwork& network, const NamedValues& inputs,
                       const std::string& backend = "reference");

// Returns the line with which the importer refuses the model. It is a test failure when the
// importer does not refuse.
std::string RefusalOf(const std::string& bytes, const ImportOptions& options = {});

}  // namespace topdnn

#endif  // TOPDNN_TESTS_NETWORKS_ONNX_RUN_MODEL_H_
