// Layers that ONNX's opset of the export has only as several nodes, and element-wise functions.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "kernels/eltwise/unary.h"
#include "kernels/layernorm/layernorm.h"
#include "networks/onnx/export/exporter.h"
#include "networks/onnx/export/node_export.h"
#include "networks/onnx/nodes/unary_nodes.h"

namespace topdnn {

namespace {

// Per channel of (N, C, ...), so that it aligns with them.
std::string ChannelParameter(NodeExport& layer, const char* name, int rank, const Shape& channels) {
  std::vector<std::int64_t> extents(static_cast<std::size_t>(rank) - 1, 1);
  extents.front() = channels[0];
  const std::string shape = layer.AddInts(fmt::format("{}_shape", name), extents);
  const std::string flat = layer.AddParameter(name, channels);
  return layer.AddNode("Reshape", {flat, shape}, fmt::format("{}_reshape", name)).output(0);
}

// This opset has no layer normalization.
void WriteLayerNorm(NodeExport& layer) {
  const auto& op = layer.OpAs<LayerNormOp>();
  const int rank = op.shape().rank();
  const float epsilon = op.epsilon();
  const auto add = [&](const char* type, std::vector<std::string> inputs, const char* part) {
    return layer.AddNode(type, std::move(inputs), part).output(0);
  };
  const auto mean = [&](const std::string& of, const char* part) {
    onnx::NodeProto& node = layer.AddNode("ReduceMean", {of}, part);
    SetInts(node, "axes", {1});
    return node.output(0);
  };
  const std::string src = layer.Sources().front();
  const std::string centred = add("Sub", {src, mean(src, "mean")}, "centred");
  const std::string square = add("Mul", {centred, centred}, "square");
  const std::string variance = mean(square, "variance");
  const std::string sum =
      add("Add", {variance, layer.AddFloats("epsilon", {}, &epsilon)}, "positive");
  const std::string normal = add("Div", {centred, add("Sqrt", {sum}, "deviation")}, "normal");
  const Shape channels{op.channels()};
  const std::string scaled =
      add("Mul", {normal, ChannelParameter(layer, "scale", rank, channels)}, "scaled");
  layer.AddNode("Add", {scaled, ChannelParameter(layer, "shift", rank, channels)});
}

// x * (1 + erf(x / sqrt(2))) / 2, as PyTorch writes it.
void WriteGelu(NodeExport& layer) {
  const float root = std::sqrt(2.0F), one = 1.0F, half = 0.5F;
  const std::string src = layer.Sources().front();
  const std::string scaled =
      layer.AddNode("Div", {src, layer.AddFloats("root", {}, &root)}, "scaled").output(0);
  const std::string error = layer.AddNode("Erf", {scaled}, "erf").output(0);
  const std::string sum =
      layer.AddNode("Add", {error, layer.AddFloats("one", {}, &one)}, "sum").output(0);
  const std::string product = layer.AddNode("Mul", {src, sum}, "product").output(0);
  layer.AddNode("Mul", {product, layer.AddFloats("half", {}, &half)});
}

void WriteUnary(NodeExport& layer) {
  const auto& op = layer.OpAs<UnaryOp>();
  if (op.function().name == "gelu") return WriteGelu(layer);
  const bool hard = op.function().name == "hard_swish";
  if (hard || (op.function().name == "swish" && op.alpha() == 1)) {  // as PyTorch writes them
    onnx::NodeProto& gate =
        layer.AddNode(hard ? "HardSigmoid" : "Sigmoid", layer.Sources(), "gate");
    if (hard) {
      SetFloat(gate, "alpha", op.alpha());
      SetFloat(gate, "beta", op.beta());
    }
    const std::string gated = gate.output(0);
    layer.AddNode("Mul", {layer.Sources().front(), gated});
    return;
  }
  const auto rows = UnaryNodes();
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const UnaryNode& one) {
    return one.function == op.function().name && one.since_opset <= kExportedOpset;
  });
  if (row == rows.end()) {
    throw std::invalid_argument(fmt::format("opset {} lacks {}", kExportedOpset, op.Problem()));
  }
  onnx::NodeProto& node = layer.AddNode(row->op_type, layer.Sources());
  if (*row->alpha != '\0') SetFloat(node, row->alpha, op.alpha());
  if (*row->beta != '\0') SetFloat(node, row->beta, op.beta());
}

const NodeWriterRegistration kWriteLayerNorm("layernorm", WriteLayerNorm);
const NodeWriterRegistration kWriteUnary("unary", WriteUnary);

}  // namespace

}  // namespace topdnn
