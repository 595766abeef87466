// Weights from a file: an npz archive or a safetensors file, arrays named LAYER/PARAMETER.

#ifndef TOPDNN_BENCH_WORKLOAD_WEIGHTS_H_
#define TOPDNN_BENCH_WORKLOAD_WEIGHTS_H_

#include <cstddef>
#include <string>

#include "bench/formats/npz.h"
#include "networks/parameters/parameter_values.h"

namespace topdnn {

// The parameters of `graph`. The ending of the path, .npz or .safetensors, gives the format. An
// archive of `topdnn step --dump` contains more than weights: if there are names
// weights/LAYER/PARAMETER, only those are read. Names and shapes are checked against the graph
// before an npz archive is unpacked. `memory_limit`: the most bytes of a safetensors file, which is
// read as a whole; 0: no limit. Throws UsageError, InputError or ParameterError, in one line.
ParameterValues ReadWeights(const std::string& path, const Graph& graph, std::size_t memory_limit);

// Converts to f32.
Tensor ToTensor(const NpyArray& array);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_WORKLOAD_WEIGHTS_H_
