// Weights from a file: an npz archive or a safetensors file, arrays named LAYER/PARAMETER.

#ifndef TOPDNN_BENCH_WEIGHTS_H_
#define TOPDNN_BENCH_WEIGHTS_H_

#include <cstddef>
#include <string>

#include "bench/npz.h"
#include "networks/parameter_values.h"

namespace topdnn {

// The parameters of `graph`, by the ending of the path, .npz or .safetensors. An archive that
// `topdnn step --dump` wrote holds more than weights: of one with names weights/LAYER/PARAMETER
// those are taken, and nothing else. Names and shapes are held against the graph before any data is
// unpacked. Throws UsageError, NpzError or ParameterError, in one line.
ParameterValues ReadWeights(const std::string& path, const Graph& graph, std::size_t memory_limit);

// As f32.
Tensor ToTensor(const NpyArray& array);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_WEIGHTS_H_
