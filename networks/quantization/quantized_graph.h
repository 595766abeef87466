// Networks in small integers.
//
// A quantized ONNX model has float layers between a DequantizeLinear and a QuantizeLinear
// (the form called QDQ). IntegerGraph replaces such a group by one layer that computes on the
// integers themselves. QuantizedGraph makes such a model: it puts both nodes into a float network
// with known ranges of its values.

#ifndef TOPDNN_NETWORKS_QUANTIZATION_QUANTIZED_GRAPH_H_
#define TOPDNN_NETWORKS_QUANTIZATION_QUANTIZED_GRAPH_H_

#include <map>
#include <string>
#include <vector>

#include "networks/graph/graph.h"
#include "networks/parameters/parameter_values.h"

namespace topdnn {

// By layer, the scales of its weights: one for each output channel, or one for all. A weight is an
// integer from -128 to 127 times its scale.
using WeightScales = std::map<std::string, std::vector<float>>;

struct QuantizedNetwork {
  Graph graph;
  ParameterValues parameters;
  WeightScales scales = {};
};

// Replaces each group of
//   a convolution or inner product whose weights have scales and whose source is dequantized,
//   the addition of another dequantized value (of a convolution), a ReLU, a quantization
// by one QuantizedLayerOp, whose parameters are integers. Without a quantization at the end its
// result is f32. A maximum pooling between two equal quantizations reads the integers. The rest
// computes in f32. Every rounding is where the model has it.
QuantizedNetwork IntegerGraph(QuantizedNetwork network);

// The reason why the graph's quantizations do not form pairs, or empty: a layer that reads integers
// must be a dequantization of the same type.
std::string UnpairedQuantization(const Graph& graph);

// Whether a layer quantizes or computes in integers.
bool IsQuantized(const Graph& graph);

// The network as inference computes it: batch normalizations are folded into the convolutions
// before them where that is possible, and dropout is left out.
QuantizedNetwork InferenceGraph(const Graph& graph, ParameterValues values);

// The smallest and the largest element of a value.
struct ValueRange {
  float least = 0.0F, most = 0.0F;
};

// Puts a quantization and a dequantization behind every value that is read by a convolution, an
// inner product, or a maximum pooling before one of these, and behind the shortcut and the result
// of an addition that a convolution computes. `ranges`: by the name of the layer that computes the
// value, or of the input, which is "input" in most networks. A value without negative elements
// becomes u8, others s8. Returns the scales of the weights, too: each output channel's largest
// weight becomes 127, or less if the channel's bias would not fit s32. Throws std::invalid_argument
// for a network in which nothing can be quantized.
QuantizedNetwork QuantizedGraph(QuantizedNetwork network,
                                const std::map<std::string, ValueRange>& ranges);

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_QUANTIZATION_QUANTIZED_GRAPH_H_
