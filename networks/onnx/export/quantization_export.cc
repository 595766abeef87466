// Writes QuantizeLinear and DequantizeLinear, and parameters as integers.

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/quantization/quantize.h"
#include "networks/onnx/export/node_export.h"
#include "networks/onnx/model/model.h"

namespace topdnn {

namespace {

void WriteStep(NodeExport& layer) {
  const auto& op = layer.OpAs<QuantizeOp>();
  const Quantization& q = op.quantization();
  std::vector<std::string> inputs = layer.Sources();
  inputs.push_back(layer.AddFloats("scale", {}, &q.scale));
  const double zero = 0;
  inputs.push_back(layer.AddIntegers("zero_point", q.type, {}, {&zero, 1}));
  const bool quantizes = op.step() == QuantizeOp::Step::kQuantize;
  layer.AddNode(quantizes ? "QuantizeLinear" : "DequantizeLinear", std::move(inputs));
}

const NodeWriterRegistration kWriteQuantize("quantize", WriteStep);
const NodeWriterRegistration kWriteDequantize("dequantize", WriteStep);

// The scale of a layer's source if it is dequantized.
std::optional<float> ScaleOfSource(const Graph& graph, const GraphNode& layer) {
  const GraphNode* producer = graph.ProducerOf(layer.inputs.front());
  if (producer == nullptr) return std::nullopt;
  const auto* step = dynamic_cast<const QuantizeOp*>(producer->op.get());
  if (step == nullptr || step->step() != QuantizeOp::Step::kDequantize) return std::nullopt;
  return step->quantization().scale;
}

}  // namespace

std::string NodeExport::AddIntegers(std::string_view name, DataType type, const Shape& shape,
                                    std::span<const double> values) {
  onnx::TensorProto& tensor = *model_.add_initializer();
  tensor.set_name(NewName(ParameterKey(layer_.name, name)));
  tensor.set_data_type(type == DataType::kS8   ? onnx::TensorProto::INT8
                       : type == DataType::kU8 ? onnx::TensorProto::UINT8
                                               : onnx::TensorProto::INT32);
  for (const std::int64_t extent : shape.extents()) tensor.add_dims(extent);
  tensor.set_raw_data(MakeTensor(shape, type, {values.begin(), values.end()}).bytes);
  return tensor.name();
}

std::string NodeExport::AddDequantized(std::string_view name, DataType type, const Tensor& real,
                                       const std::vector<float>& scales) {
  const Shape& shape = real.shape();
  const std::int64_t of_channel = shape.elements() / shape[0];
  // For s32, the largest f32 below 2^31.
  const double most = type == DataType::kS8 ? 127 : 2147483520;
  std::vector<double> integers;
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    const auto k = static_cast<std::size_t>(i / of_channel);
    const float ratio = real.as<float>()[i] / scales[scales.size() == 1 ? 0 : k];
    integers.push_back(std::clamp(static_cast<double>(std::nearbyint(ratio)), -most, most));
  }
  const auto count = static_cast<std::int64_t>(scales.size());
  const std::vector<double> zeros(scales.size(), 0.0);
  const std::string label(name);
  const std::string inputs[] = {AddIntegers(label + "_quantized", type, shape, integers),
                                AddFloats(label + "_scale", Shape{count}, scales.data()),
                                AddIntegers(label + "_zero_point", type, Shape{count}, zeros)};
  onnx::NodeProto& node =
      AddNode("DequantizeLinear", {std::begin(inputs), std::end(inputs)}, label);
  SetInt(node, "axis", 0);
  return node.output(0);
}

std::string NodeExport::AddParameter(std::string_view name, const Shape& shape, float otherwise) {
  const auto found = parameters_.values.find(ParameterKey(layer_.name, name));
  if (found == parameters_.values.end()) {
    const std::vector<float> filled(static_cast<std::size_t>(shape.elements()), otherwise);
    return AddFloats(name, shape, filled.data());
  }
  const auto scales = parameters_.scales.find(layer_.name);
  const std::optional<float> source = ScaleOfSource(graph_, layer_);
  if (scales != parameters_.scales.end() && name == "weights") {
    return AddDequantized(name, DataType::kS8, found->second, scales->second);
  }
  if (scales != parameters_.scales.end() && name == "bias" && source) {
    std::vector<float> of_sums = scales->second;
    for (float& scale : of_sums) scale *= *source;
    return AddDequantized(name, DataType::kS32, found->second, of_sums);
  }
  return AddFloats(name, shape, found->second.as<float>());
}

}  // namespace topdnn
