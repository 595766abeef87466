// Values of a network's parameters by name, independent of a plan. A file of weights contains
// these.

#ifndef TOPDNN_NETWORKS_PARAMETERS_PARAMETER_VALUES_H_
#define TOPDNN_NETWORKS_PARAMETERS_PARAMETER_VALUES_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "kernels/op/request_error.h"
#include "kernels/tensor/tensor.h"
#include "networks/graph/graph.h"
#include "networks/plan/plan.h"

namespace topdnn {

// Values that do not fit the network. One line with the layers and parameters.
class ParameterError : public RequestError {
 public:
  using RequestError::RequestError;
};

// f32, row-major, by "LAYER/PARAMETER": "conv1/weights". A batch normalization also has its
// statistics here, "bn1/mean" and "bn1/variance".
using ParameterValues = std::map<std::string, Tensor>;

// "conv1", "weights" -> "conv1/weights".
std::string ParameterKey(std::string_view layer, std::string_view parameter);

// The values that InitializeParameters (parameters.h) writes into a plan of this graph. Statistics
// are those of normalized data, mean 0 and variance 1.
ParameterValues DrawnParameters(const Graph& graph, std::uint64_t seed);

// Throws ParameterError unless there is each parameter of the graph with its shape, and none that
// the graph lacks. Statistics may be absent.
void CheckParameterShapes(const Graph& graph, const std::map<std::string, Shape>& shapes);
// The same of values, which must also be finite, and variances 0 or more.
void CheckParameters(const Graph& graph, const ParameterValues& values);

// Writes checked values into an allocated plan of their graph, and prepares them.
void WriteParameters(const Plan& plan, const ParameterValues& values);
// The same, and frees each value once it is written, so that the values are not in memory twice.
void TakeParameters(Plan& plan, ParameterValues values);
// The same for inference with values that do not change later. Where a kernel reads another form of
// its parameters, the plan has that form alone: half the memory, and no page of the others.
void PrepareOnly(Plan& plan, ParameterValues values);

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_PARAMETERS_PARAMETER_VALUES_H_
