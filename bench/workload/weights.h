// Weights from a file: an npz archive or a safetensors file, arrays named LAYER/PARAMETER.

#ifndef TOPDNN_BENCH_WORKLOAD_WEIGHTS_H_
#define TOPDNN_BENCH_WORKLOAD_WEIGHTS_H_

#include <cstddef>
#include <string>

#include "bench/formats/npz.h"
#include "networks/parameter_values.h"

namespace topdnn {

// The parameters of `graph`. The ending of the path, .npz or .safetensors, gives the format. An
// archive of `topdnn step --dump` contains more than weights: if there are names
// weights/LAYER/PARAMETER, only those are read. Names and shapes are checked against the graph
// before any data is unpacked. Throws UsageError, NpzError or ParameterError, in one line.
ParameterValues ReadWeights(const std::string& path, const Graph& graph, std::size_t memory_limit);

// Converts to f32.
Tensor ToTensor(const NpyArray& array);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_WORKLOAD_WEIGHTS_H_
