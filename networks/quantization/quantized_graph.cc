#include "networks/quantization/quantized_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

#include "kernels/activation/relu.h"
#include "kernels/batchnorm/batchnorm.h"
#include "kernels/batchnorm/fold.h"
#include "kernels/conv/conv.h"
#include "kernels/eltwise/add.h"
#include "kernels/inner_product/inner_product.h"
#include "kernels/pool/pool.h"
#include "kernels/quantization/quantize.h"
#include "networks/graph/graph_copy.h"

namespace topdnn {

namespace {

template <typename OpType>
bool IsA(const GraphNode& node) {
  return dynamic_cast<const OpType*>(node.op.get()) != nullptr;
}

std::span<const float> FloatsOf(const ParameterValues& values, const std::string& key) {
  const auto found = values.find(key);
  return found == values.end() ? std::span<const float>() : found->second.values<float>();
}

Tensor TensorOf(const Shape& shape, const std::vector<float>& values) {
  Tensor tensor(shape);
  std::copy(values.begin(), values.end(), tensor.as<float>());
  return tensor;
}

// The parameters of `layer` with `norm` folded in.
void FoldParameters(const GraphNode& layer, const GraphNode& norm, ParameterValues& values) {
  const auto of = [&](const GraphNode& node, std::string_view name) {
    return ParameterKey(node.name, name);
  };
  const auto& op = dynamic_cast<const BatchNormOp&>(*norm.op);
  const auto channels = static_cast<std::size_t>(op.channels());
  // A network without statistics has those of normalized data.
  const std::vector<float> zeros(channels, 0.0F), ones(channels, 1.0F);
  const auto given = [&](std::string_view name, const std::vector<float>& otherwise) {
    const auto floats = FloatsOf(values, of(norm, name));
    return floats.empty() ? std::span<const float>(otherwise) : floats;
  };
  const Tensor& weights = values.at(of(layer, "weights"));
  const FoldedWeights folded =
      FoldBatchNorm(weights.values<float>(), FloatsOf(values, of(layer, "bias")),
                    {given("mean", zeros), given("variance", ones), given("scale", ones),
                     given("shift", zeros), op.epsilon()});
  values[of(layer, "weights")] = TensorOf(weights.shape(), folded.weights);
  values[of(layer, "bias")] = TensorOf(Shape{op.channels()}, folded.bias);
  for (const char* name : {"mean", "variance", "scale", "shift"}) values.erase(of(norm, name));
}

// The scales of the weights, one for each output channel. `bias` may be empty.
std::vector<float> ScalesOf(const Tensor& weights, std::span<const float> bias,
                            float source_scale) {
  const std::int64_t channels = weights.shape()[0];
  const std::int64_t of_channel = weights.shape().elements() / channels;
  std::vector<float> scales;
  for (std::int64_t k = 0; k < channels; ++k) {
    float most = 0;
    for (std::int64_t i = 0; i < of_channel; ++i) {
      most = std::max(most, std::abs(weights.as<float>()[k * of_channel + i]));
    }
    constexpr float kLeast = 1e-9F;  // smaller weights become 0
    float scale = most > kLeast ? most / 127 : 1.0F;
    // The bias is counted in units of both scales. Where the weights are tiny beside it, their
    // scale is larger, so that the bias takes at most half of the range of s32.
    constexpr float kMostUnits = 0x1p30F;
    if (!bias.empty()) scale = std::max(scale, std::abs(bias[k]) / source_scale / kMostUnits);
    scales.push_back(scale);
  }
  return scales;
}

Quantization QuantizationOf(const ValueRange& range) {
  const bool is_signed = range.least < 0;
  const float most = is_signed ? std::max(-range.least, range.most) / 127 : range.most / 255;
  return {is_signed ? DataType::kS8 : DataType::kU8, most > 0 ? most : 1.0F};
}

bool HasWeights(const GraphNode& node) { return IsA<ConvOp>(node) || IsA<InnerProductOp>(node); }

// The source of an addition that a convolution computes together with it: the last one that only
// the addition reads. -1: none.
ValueId FusedSource(const Graph& graph, const GraphNode& add) {
  ValueId fused = -1;
  for (const ValueId input : add.inputs) {
    const GraphNode* producer = graph.ProducerOf(input);
    if (producer == nullptr || !IsA<ConvOp>(*producer)) continue;
    if (graph.Readers(input).size() == 1) fused = std::max(fused, input);
  }
  return add.inputs.size() == 2 ? fused : -1;
}

// The result of the ReLU that alone reads the value, or the value.
ValueId AfterRelu(const Graph& graph, ValueId value) {
  const std::vector<int>& readers = graph.Readers(value);
  if (readers.size() != 1) return value;
  const GraphNode& reader = graph.nodes()[static_cast<std::size_t>(readers.front())];
  return IsA<ReluOp>(reader) ? reader.output : value;
}

// Per value, whether it becomes integers.
std::vector<bool> ValuesToQuantize(const Graph& graph) {
  std::vector<bool> wanted(graph.values().size(), false);
  const auto& nodes = graph.nodes();
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    const auto* pool = dynamic_cast<const PoolOp*>(node->op.get());
    const bool pools_integers = pool != nullptr && pool->algorithm() == PoolAlgorithm::kMax &&
                                wanted[static_cast<std::size_t>(node->output)];
    if (HasWeights(*node) || pools_integers) {
      wanted[static_cast<std::size_t>(node->inputs.front())] = true;
    } else if (IsA<AddOp>(*node)) {
      const ValueId fused = FusedSource(graph, *node);
      if (fused < 0) continue;
      for (const ValueId input : node->inputs) {
        if (input != fused) wanted[static_cast<std::size_t>(input)] = true;
      }
      wanted[static_cast<std::size_t>(AfterRelu(graph, node->output))] = true;
    }
  }
  return wanted;
}

}  // namespace

QuantizedNetwork InferenceGraph(const Graph& graph, ParameterValues values) {
  GraphCopy copy(graph);
  std::vector<bool> folded(graph.nodes().size(), false);
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const GraphNode& node = graph.nodes()[i];
    if (folded[i]) continue;
    if (node.op->Traits().copies_in_inference) {
      copy.Set(node.output, copy.At(node.inputs.front()));
      continue;
    }
    const std::vector<int>& readers = graph.Readers(node.output);
    std::shared_ptr<const Op> op = node.op;
    ValueId result = node.output;
    if (readers.size() == 1 && !graph.IsOutput(node.output)) {
      const auto next = static_cast<std::size_t>(readers.front());
      const bool is_norm = graph.nodes()[next].op->kind() == "batchnorm";
      if (auto with_norm = is_norm ? node.op->FoldedWith(*graph.nodes()[next].op) : nullptr) {
        FoldParameters(node, graph.nodes()[next], values);
        op = std::move(with_norm);
        result = graph.nodes()[next].output;
        folded[next] = true;
      }
    }
    copy.Set(result, copy.Add(node.name, std::move(op), node.inputs));
  }
  std::vector<ValueId> outputs = graph.outputs();
  for (ValueId& output : outputs) output = copy.At(output);
  return {std::move(copy).TakeWith(std::move(outputs)), std::move(values)};
}

QuantizedNetwork QuantizedGraph(QuantizedNetwork network,
                                const std::map<std::string, ValueRange>& ranges) {
  const Graph& graph = network.graph;
  const std::vector<bool> wanted = ValuesToQuantize(graph);
  GraphCopy copy(graph);
  std::vector<std::optional<Quantization>> quantizations(graph.values().size());
  std::vector<ValueId> before(graph.values().size(), -1);  // values before their quantization
  WeightScales scales;
  const auto quantize = [&](ValueId old, ValueId value, const std::string& name,
                            const Quantization& quantization) {
    const Shape& shape = graph.shape(old);
    const auto step = [&](QuantizeOp::Step what) {
      return std::make_shared<QuantizeOp>(what, shape, quantization);
    };
    const ValueId integers =
        copy.graph().Add(name + ".quantize", step(QuantizeOp::Step::kQuantize), {value});
    quantizations[static_cast<std::size_t>(old)] = quantization;
    copy.Set(old, copy.graph().Add(name + ".dequantize", step(QuantizeOp::Step::kDequantize),
                                   {integers}));
  };
  for (ValueId input = 0; input < graph.inputs(); ++input) {
    const std::string& name = graph.values()[static_cast<std::size_t>(input)].name;
    if (!wanted[static_cast<std::size_t>(input)]) continue;
    quantize(input, copy.At(input), name, QuantizationOf(ranges.at(name)));
  }
  for (const GraphNode& node : graph.nodes()) {
    const ValueId value = copy.Add(node.name, node.op, node.inputs);
    copy.Set(node.output, value);
    before[static_cast<std::size_t>(node.output)] = value;
    if (HasWeights(node)) {
      const auto& source = quantizations[static_cast<std::size_t>(node.inputs.front())];
      scales[node.name] = ScalesOf(network.parameters.at(ParameterKey(node.name, "weights")),
                                   FloatsOf(network.parameters, ParameterKey(node.name, "bias")),
                                   source.value().scale);
    }
    if (!wanted[static_cast<std::size_t>(node.output)]) continue;
    if (graph.IsOutput(node.output) && graph.Readers(node.output).empty()) continue;
    // A maximum is one of its source's elements, so it keeps the source's scale.
    const auto& of_source = quantizations[static_cast<std::size_t>(node.inputs.front())];
    const auto* pool = dynamic_cast<const PoolOp*>(node.op.get());
    const bool keeps =
        pool != nullptr && pool->algorithm() == PoolAlgorithm::kMax && of_source.has_value();
    quantize(node.output, value, node.name,
             keeps ? *of_source : QuantizationOf(ranges.at(node.name)));
  }
  if (scales.empty()) {
    throw std::invalid_argument(fmt::format(
        "{} has no convolution and no inner product: nothing to quantize", graph.name()));
  }
  std::vector<ValueId> outputs = graph.outputs();
  for (ValueId& output : outputs) output = before[static_cast<std::size_t>(output)];
  return {std::move(copy).TakeWith(std::move(outputs)), std::move(network.parameters),
          std::move(scales)};
}

}  // namespace topdnn
