#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "kernels/activation/relu.h"
#include "kernels/conv/conv.h"
#include "kernels/eltwise/add.h"
#include "kernels/inner_product/inner_product.h"
#include "kernels/pool/pool.h"
#include "kernels/quantization/quantize.h"
#include "kernels/quantization/quantized_layer.h"
#include "networks/graph/graph_copy.h"
#include "networks/quantization/quantized_graph.h"

namespace topdnn {

namespace {

const QuantizeOp* StepOf(const Op& op, QuantizeOp::Step step) {
  const auto* quantize = dynamic_cast<const QuantizeOp*>(&op);
  return quantize != nullptr && quantize->step() == step ? quantize : nullptr;
}

// A layer of the new graph; values are those of the old one.
struct IntegerLayer {
  std::string name;
  std::shared_ptr<const Op> op;
  std::vector<ValueId> inputs;
  ValueId output;
};

// A group of nodes that one integer layer replaces.
struct IntegerGroup {
  const GraphNode* first = nullptr;  // the layer with the weights
  std::vector<int> nodes = {};
  Quantization src = {};
  std::vector<ValueId> inputs = {};
  std::optional<Quantization> sum = {}, dst = {};
  std::optional<float> relu = {};  // its bound, 0: none
  ValueId output = -1;
};

class IntegerGraphMaker {
 public:
  explicit IntegerGraphMaker(QuantizedNetwork network)
      : graph_(std::move(network.graph)),
        scales_(std::move(network.scales)),
        consumed_(graph_.nodes().size(), false),
        result_{Graph(graph_.name()), std::move(network.parameters)} {}

  QuantizedNetwork Make() && {
    std::map<int, IntegerLayer> replaced;  // by the last node of the group
    for (int node = 0; node < static_cast<int>(graph_.nodes().size()); ++node) {
      std::vector<int> nodes;
      std::optional<IntegerLayer> layer = PoolingAt(node, nodes);
      if (!layer) layer = LayerAt(node, nodes);
      if (!layer) continue;
      for (const int member : nodes) consumed_[static_cast<std::size_t>(member)] = true;
      replaced.emplace(nodes.back(), std::move(*layer));
    }
    std::vector<IntegerLayer> layers;
    for (int node = 0; node < static_cast<int>(graph_.nodes().size()); ++node) {
      const GraphNode& old = graph_.nodes()[static_cast<std::size_t>(node)];
      if (const auto found = replaced.find(node); found != replaced.end()) {
        layers.push_back(found->second);
      } else if (!consumed_[static_cast<std::size_t>(node)]) {
        layers.push_back({old.name, old.op, old.inputs, old.output});
      }
    }
    AddNeeded(layers);
    return std::move(result_);
  }

 private:
  // The dequantization that computes the value, or nullptr.
  const GraphNode* DequantizationOf(ValueId value) const {
    const GraphNode* producer = graph_.ProducerOf(value);
    const bool is = producer != nullptr && StepOf(*producer->op, QuantizeOp::Step::kDequantize);
    return is ? producer : nullptr;
  }
  // The only reader of a value that is not an output of the network, or -1.
  int OnlyReader(ValueId value) const {
    const std::vector<int>& readers = graph_.Readers(value);
    return readers.size() == 1 && !graph_.IsOutput(value) ? readers.front() : -1;
  }

  std::optional<IntegerLayer> PoolingAt(int index, std::vector<int>& nodes) const {
    const GraphNode& node = graph_.nodes()[static_cast<std::size_t>(index)];
    const auto* pool = dynamic_cast<const PoolOp*>(node.op.get());
    if (pool == nullptr || pool->algorithm() != PoolAlgorithm::kMax) return std::nullopt;
    const GraphNode* before = DequantizationOf(node.inputs.front());
    const int reader = OnlyReader(node.output);
    if (before == nullptr || reader < 0) return std::nullopt;
    const GraphNode& after = graph_.nodes()[static_cast<std::size_t>(reader)];
    const auto* to = StepOf(*after.op, QuantizeOp::Step::kQuantize);
    const auto& from = dynamic_cast<const QuantizeOp&>(*before->op);
    if (to == nullptr || !(to->quantization() == from.quantization())) return std::nullopt;
    nodes = {index, reader};
    return IntegerLayer{node.name, node.op, before->inputs, after.output};
  }

  std::optional<IntegerLayer> LayerAt(int index, std::vector<int>& nodes) {
    const GraphNode& node = graph_.nodes()[static_cast<std::size_t>(index)];
    const auto* conv = dynamic_cast<const ConvOp*>(node.op.get());
    const auto* product = dynamic_cast<const InnerProductOp*>(node.op.get());
    if (conv == nullptr && product == nullptr) return std::nullopt;
    const GraphNode* before = DequantizationOf(node.inputs.front());
    const auto scales = scales_.find(node.name);
    if (before == nullptr || scales == scales_.end()) return std::nullopt;
    IntegerGroup group{.first = &node, .nodes = {index}, .inputs = before->inputs};
    group.src = dynamic_cast<const QuantizeOp&>(*before->op).quantization();
    group.output = node.output;
    Extend(group, conv != nullptr);
    std::shared_ptr<const Op> op = OpOf(group, scales->second);
    if (op == nullptr) return std::nullopt;
    nodes = group.nodes;
    return IntegerLayer{node.name, std::move(op), group.inputs, group.output};
  }

  // Adds the nodes after the layer that the integer layer can compute. It adds a second source only
  // to integers.
  void Extend(IntegerGroup& group, bool adds) const {
    const IntegerGroup layer = group;
    Follow(group, adds);
    if (!group.sum || group.dst) return;
    group = layer;
    Follow(group, false);
  }

  void Follow(IntegerGroup& group, bool adds) const {
    for (int next = OnlyReader(group.output); next >= 0; next = OnlyReader(group.output)) {
      const GraphNode& node = graph_.nodes()[static_cast<std::size_t>(next)];
      const auto* relu = dynamic_cast<const ReluOp*>(node.op.get());
      const auto* add = dynamic_cast<const AddOp*>(node.op.get());
      const auto* quantize = StepOf(*node.op, QuantizeOp::Step::kQuantize);
      if (relu != nullptr && !group.relu && !group.first->op->Traits().final_relu_bound) {
        group.relu = relu->bound();
      } else if (add != nullptr && adds && !group.sum && !group.relu && add->sources() == 2 &&
                 !add->relu()) {
        const ValueId other = node.inputs[node.inputs[0] == group.output ? 1 : 0];
        const GraphNode* shortcut = DequantizationOf(other);
        if (shortcut == nullptr) return;
        group.sum = dynamic_cast<const QuantizeOp&>(*shortcut->op).quantization();
        group.inputs.push_back(shortcut->inputs.front());
      } else if (quantize != nullptr) {
        group.dst = quantize->quantization();
      } else {
        return;
      }
      group.nodes.push_back(next);
      group.output = node.output;
      if (group.dst) return;
    }
  }

  // The integer layer, and its parameters in integers. nullptr: the weights or the bias are not
  // integers times the scales.
  std::shared_ptr<const Op> OpOf(const IntegerGroup& group, const std::vector<float>& scales) {
    const float unit = group.dst ? group.dst->scale : 1.0F;
    const std::string weights_key = ParameterKey(group.first->name, "weights");
    Tensor& weights = result_.parameters.at(weights_key);
    const std::int64_t channels = weights.shape()[0];
    if (scales.size() != 1 && static_cast<std::int64_t>(scales.size()) != channels) return nullptr;
    std::vector<float> of_sums;  // one unit of a sum, real
    Requantization r{.src = group.src.type, .dst = group.dst ? group.dst->type : DataType::kF32};
    const auto scale_of = [&](std::int64_t k) {
      return scales[scales.size() == 1 ? 0 : static_cast<std::size_t>(k)];
    };
    for (std::int64_t k = 0; k < channels; ++k) {
      of_sums.push_back(group.src.scale * scale_of(k));
      r.scales.push_back(of_sums.back() / unit);
      if (!(r.scales.back() > 0) || !std::isfinite(r.scales.back())) return nullptr;
    }
    if (group.sum) {
      r.sum = group.sum->type;
      r.sum_scale = group.sum->scale / unit;
    }
    Tensor integers(weights.shape());
    const std::int64_t of_channel = weights.shape().elements() / channels;
    for (std::int64_t i = 0; i < weights.shape().elements(); ++i) {
      const float x = weights.as<float>()[i] / scale_of(i / of_channel);
      const float nearest = std::nearbyint(x);
      constexpr float kRounding = 1e-3F;  // of weights that were integers times the scale
      if (!(nearest >= -128 && nearest <= 127) || std::abs(x - nearest) > kRounding) return nullptr;
      integers.as<float>()[i] = nearest;
    }
    const auto bias = result_.parameters.find(ParameterKey(group.first->name, "bias"));
    if (bias != result_.parameters.end()) {
      Tensor units(bias->second.shape());
      for (std::int64_t k = 0; k < channels; ++k) {
        const float x = bias->second.as<float>()[k] / of_sums[static_cast<std::size_t>(k)];
        const float nearest = std::nearbyint(x);
        // The bias and its unit are products that f32 rounded.
        constexpr float kMost = 2147483520.0F;  // the largest f32 below 2^31
        constexpr float kRounding = 1e-3F, kRelative = 0x1p-21F;
        if (!(std::abs(x - nearest) <= kRounding + kRelative * std::abs(x))) return nullptr;
        units.as<float>()[k] = std::clamp(nearest, -kMost, kMost);
      }
      bias->second = std::move(units);
    }
    weights = std::move(integers);
    std::shared_ptr<const Op> layer = group.first->op;
    if (group.relu)
      layer = layer->FusedWith(ReluOp(graph_.shape(group.output), *group.relu / unit));
    return std::make_shared<QuantizedLayerOp>(std::move(layer), std::move(r));
  }

  // Adds the layers that the outputs depend on.
  void AddNeeded(const std::vector<IntegerLayer>& layers) {
    std::vector<bool> needed(graph_.values().size(), false);
    const std::vector<ValueId> outputs = graph_.outputs();
    for (const ValueId output : outputs) needed[static_cast<std::size_t>(output)] = true;
    for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
      if (!needed[static_cast<std::size_t>(layer->output)]) continue;
      for (const ValueId input : layer->inputs) needed[static_cast<std::size_t>(input)] = true;
    }
    GraphCopy copy(graph_);
    for (const IntegerLayer& layer : layers) {
      if (!needed[static_cast<std::size_t>(layer.output)]) continue;
      copy.Set(layer.output, copy.Add(layer.name, layer.op, layer.inputs));
    }
    std::vector<ValueId> new_outputs;
    new_outputs.reserve(outputs.size());
    for (const ValueId output : outputs) new_outputs.push_back(copy.At(output));
    result_.graph = std::move(copy).TakeWith(std::move(new_outputs));
  }

  const Graph graph_;
  const WeightScales scales_;
  std::vector<bool> consumed_;  // per node
  QuantizedNetwork result_;
};

}  // namespace

QuantizedNetwork IntegerGraph(QuantizedNetwork network) {
  return IntegerGraphMaker(std::move(network)).Make();
}

std::string UnpairedQuantization(const Graph& graph) {
  for (const GraphNode& node : graph.nodes()) {
    const auto* own = StepOf(*node.op, QuantizeOp::Step::kDequantize);
    for (const ValueId input : node.inputs) {
      const GraphNode* producer = graph.ProducerOf(input);
      const auto* from =
          producer == nullptr ? nullptr : StepOf(*producer->op, QuantizeOp::Step::kQuantize);
      const bool is_pair = from != nullptr && own != nullptr &&
                           from->quantization().type == own->quantization().type;
      if ((from != nullptr || own != nullptr) && !is_pair) {
        return fmt::format(
            "layer {} ({}): topdnn supports a QuantizeLinear only if each reader is a "
            "DequantizeLinear of its type, and the reverse; export the model with such pairs",
            node.name, node.op->kind());
      }
    }
  }
  for (const GraphNode& node : graph.nodes()) {
    if (!graph.IsOutput(node.output)) continue;
    if (StepOf(*node.op, QuantizeOp::Step::kQuantize) == nullptr) continue;
    return fmt::format(
        "layer {}: the network's result is quantized; end it with a "
        "DequantizeLinear",
        node.name);
  }
  return "";
}

bool IsQuantized(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const GraphNode& node) {
    return dynamic_cast<const QuantizeOp*>(node.op.get()) != nullptr ||
           dynamic_cast<const QuantizedLayerOp*>(node.op.get()) != nullptr;
  });
}

}  // namespace topdnn
